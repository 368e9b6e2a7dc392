/* Names of volumes, the kernel's log, and what is told where there is no device-mapper. */
#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "check.h"
#include "core/dm.h"
#include "core/dmguard.h"
#include "core/dmmake.h"
#include "core/dmname.h"
#include "core/kmsg.h"

static char message[512];

static int named(const char *name)
{
    return dm_check_name(name, message, sizeof message);
}

static void names_are_checked_before_the_library_sees_them(void)
{
    char name[200];

    CHECK_INT(named(""), -EINVAL);
    CHECK_INT(named("."), -EINVAL);
    CHECK_INT(named(".."), -EINVAL);
    CHECK_INT(named("a/b"), -EINVAL);
    CHECK_INT(named("vol 1"), 0);
    CHECK_INT(named("..."), 0);
    memset(name, 'a', sizeof name);
    name[127] = '\0';
    CHECK_INT(named(name), 0);
    name[127] = 'a';
    name[128] = '\0';
    CHECK_INT(named(name), -ENAMETOOLONG);
    memset(name, ' ', 32);              /* 32 x 4 = 128 once they are written */
    name[32] = '\0';
    CHECK_INT(named(name), -ENAMETOOLONG);
    name[31] = '\0';
    CHECK_INT(named(name), 0);
}

static void a_path_is_written_as_the_kernel_does(void)
{
    char path[DM_NAME_MAX + 16];

    dm_path(path, sizeof path, "vol 1");
    CHECK_STR(path, "/dev/mapper/vol\\x201");
    dm_path(path, sizeof path, "a\\x20b");
    CHECK_STR(path, "/dev/mapper/a\\x5cx20b");
    dm_path(path, sizeof path, "A#+-.:=@_9");
    CHECK_STR(path, "/dev/mapper/A#+-.:=@_9");
}

static void uuids_begin_with_this_run(void)
{
    char before[64];

    strcpy(before, dm_prefix());
    CHECK(strncmp(before, "iolua-", 6) == 0);
    CHECK(before[strlen(before) - 1] == '-');
    CHECK_STR(dm_prefix(), before);
}

/* 0xfff00 holds the major; the minor's bits are on both sides. */
static void packed_numbers_are_unpacked(void)
{
    CHECK(dmname_dev(0x1fd03) == makedev(0x1fd, 3));
    CHECK(dmname_dev(0x100fd03) == makedev(253, 0x1003));
    CHECK_INT(dmname_dev(0) , 0);
}

static void parameters_that_are_no_devices_pass(void)
{
    static struct dmguard g;

    CHECK_INT(dmguard_params(&g, "2 32 core - P default", NULL, message, sizeof message), 0);
    CHECK_INT(g.n, 0);
}

static void devices_that_are_not_there_or_none_are_refused(void)
{
    static struct dmguard g;

    CHECK_INT(dmguard_params(&g, "/dev/iolua-none 0", NULL, message, sizeof message), -ENOENT);
    CHECK_STR(message, "open /dev/iolua-none: No such file or directory");
    CHECK_INT(dmguard_params(&g, "/dev/null 0", NULL, message, sizeof message), -ENOTBLK);
    CHECK_INT(dmguard_params(&g, "0 4095:1048575", NULL, message, sizeof message), -ENOENT);
}

static void what_a_table_leads_to_must_have_passed(void)
{
    static struct dmguard g;
    dev_t devs[2] = { 0x700, 0x701 };

    g.devs[0] = 0x700;
    g.n = 1;
    CHECK_INT(dmguard_covers(&g, devs, 1, message, sizeof message), 0);
    CHECK_INT(dmguard_covers(&g, devs, 2, message, sizeof message), -EPERM);
}

static void without_device_mapper_the_reason_is_told(void)
{
    int err = dm_available(message, sizeof message);

    if (err == 0)
        SKIP("there is a device-mapper here");
    CHECK(err == -ENODEV || err == -EPERM);
    CHECK(strstr(message, "device-mapper") != NULL);
}

static void a_log_that_says_nothing_gives_nothing(void)
{
    struct kmsg k;

    kmsg_open(&k);
    CHECK_INT(kmsg_find(message, sizeof message, &k, "iolua never logs this"), 0);
    kmsg_close(&k);
    CHECK_INT(kmsg_find(message, sizeof message, &k, "x"), 0);
    kmsg_close(&k);
}

int main(void)
{
    CASE(names_are_checked_before_the_library_sees_them);
    CASE(a_path_is_written_as_the_kernel_does);
    CASE(uuids_begin_with_this_run);
    CASE(packed_numbers_are_unpacked);
    CASE(parameters_that_are_no_devices_pass);
    CASE(devices_that_are_not_there_or_none_are_refused);
    CASE(what_a_table_leads_to_must_have_passed);
    CASE(without_device_mapper_the_reason_is_told);
    CASE(a_log_that_says_nothing_gives_nothing);
    return DONE();
}

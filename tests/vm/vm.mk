# The tests that need another machine: jobs in guests, see tests/vm/check.sh.
check-vm: all
	@IOLUA="$(CURDIR)/$(O)/iolua" IOLUA_BUILD="$(CURDIR)/$(O)" sh tests/vm/check.sh long "$(T)"

check-vm-short: all
	@IOLUA="$(CURDIR)/$(O)/iolua" IOLUA_BUILD="$(CURDIR)/$(O)" sh tests/vm/check.sh short "$(T)"

.PHONY: check-vm check-vm-short

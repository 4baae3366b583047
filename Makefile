# One command per target; `make ci` is what continuous integration runs.
.PHONY: build test e2e kernels bench format check ci

build:
	dotnet build IoUringCache.sln --configuration Release

test:
	./scripts/test.sh

e2e:
	./scripts/end-to-end.sh

kernels:
	./scripts/kernels.sh

bench:
	./benchmarks/compare-transports.py

format:
	dotnet format IoUringCache.sln

check: test
	dotnet format IoUringCache.sln --verify-no-changes

ci:
	./.ci/run

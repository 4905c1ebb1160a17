module listwatch.invalid/kubernetes

go 1.26.0

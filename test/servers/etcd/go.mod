module listwatch.invalid/etcd

go 1.26.0

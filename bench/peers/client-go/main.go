// The same job by client-go: client-go json|protobuf <url> <objects>; client-go encode <url> <folder> makes what protobuf needs.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

type phase struct {
	Ms     float64 `json:"ms"`
	CPUMs  float64 `json:"cpuMs"`
	PeakMB float64 `json:"peakMb"`
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func usage() (cpuMs, peakMb float64) {
	var r syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	cpu := time.Duration(r.Utime.Nano() + r.Stime.Nano())
	return float64(cpu) / 1e6, float64(r.Maxrss) / 1024
}

func measured(begin func(), done <-chan struct{}) phase {
	before, _ := usage()
	start := time.Now()
	begin()
	<-done
	ms := float64(time.Since(start)) / 1e6
	after, peak := usage()
	return phase{ms, after - before, peak}
}

func follow(contentType, url string, objects int64) {
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host:          url,
		QPS:           -1,
		ContentConfig: rest.ContentConfig{ContentType: contentType, AcceptContentTypes: contentType},
	})
	must(err)
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods().Informer()
	var added, updated atomic.Int64
	hasAdded, hasUpdated := make(chan struct{}), make(chan struct{})
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) {
			if added.Add(1) == objects {
				close(hasAdded)
			}
		},
		UpdateFunc: func(any, any) {
			if updated.Add(1) == objects {
				close(hasUpdated)
			}
		},
	})
	must(err)
	list := measured(func() { factory.Start(context.Background().Done()) }, hasAdded)
	watch := measured(func() {
		answer, err := http.Get(url + "/go")
		must(err)
		must(answer.Body.Close())
	}, hasUpdated)
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"list": list, "watch": watch, "size": added.Load() + updated.Load(),
	}))
}

func get(url string) io.ReadCloser {
	answer, err := http.Get(url)
	must(err)
	return answer.Body
}

// What the server says as JSON, as protobuf.
func encode(url, folder string, objects int) {
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		must(fmt.Errorf("no protobuf"))
	}
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
	var pods corev1.PodList
	must(json.NewDecoder(get(url + "/api/v1/pods")).Decode(&pods))
	bytes, err := runtime.Encode(encoder, &pods)
	must(err)
	must(os.WriteFile(filepath.Join(folder, "list"), bytes, 0o600))

	file, err := os.Create(filepath.Join(folder, "watch"))
	must(err)
	buffered := bufio.NewWriter(file)
	framed := info.StreamSerializer.Framer.NewFrameWriter(buffered)
	events := json.NewDecoder(get(url + "/api/v1/pods?watch=true"))
	must(get(url + "/go").Close())
	for range objects {
		var event struct {
			Type   string
			Object corev1.Pod
		}
		must(events.Decode(&event))
		raw, err := runtime.Encode(encoder, &event.Object)
		must(err)
		told := &metav1.WatchEvent{Type: event.Type, Object: runtime.RawExtension{Raw: raw}}
		must(info.StreamSerializer.Serializer.Encode(told, framed))
	}
	must(buffered.Flush())
	must(file.Close())
}

func main() {
	task, url, last := os.Args[1], os.Args[2], os.Args[3]
	if task == "encode" {
		objects, err := strconv.Atoi(os.Args[4])
		must(err)
		encode(url, last, objects)
		return
	}
	objects, err := strconv.ParseInt(last, 10, 64)
	must(err)
	contentType := runtime.ContentTypeJSON
	if task == "protobuf" {
		contentType = runtime.ContentTypeProtobuf
	}
	// The server streams no lists as protobuf.
	must(os.Setenv("KUBE_FEATURE_WatchListClient", "false"))
	follow(contentType, url, objects)
}

package deploy

import (
	_ "github.com/compose-spec/compose-go/v2/loader"
	_ "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	_ "github.com/prometheus/prometheus/promql/parser"
	_ "k8s.io/api/apps/v1"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/api/networking/v1"
	_ "k8s.io/api/policy/v1"
	_ "k8s.io/apimachinery/pkg/runtime/serializer"
	_ "sigs.k8s.io/kustomize/api/krusty"
)

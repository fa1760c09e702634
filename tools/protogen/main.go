// Command protogen compiles .proto files and runs the Go plugins on them. It replaces protoc, so
// that go generate needs nothing but the Go proxy.
//
//	go run -C tools ./protogen DIR FILE...
//
// reads the files in DIR, a path relative to the module's root, and writes the generated code
// beside them.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: protogen DIR FILE...")
		os.Exit(2)
	}
	if err := run(filepath.Join("..", os.Args[1]), os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(dir string, files []string) error {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(
			&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		SourceInfoMode: protocompile.SourceInfoStandard, // keeps the comments
	}
	compiled, err := compiler.Compile(context.Background(), files...)
	if err != nil {
		return err
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: files}
	seen := map[string]bool{}
	for _, f := range compiled {
		add(request, f, seen)
	}
	for _, plugin := range []struct{ name, parameter string }{
		{"protoc-gen-go", "paths=source_relative"},
		{"protoc-gen-connect-go", "paths=source_relative,package_suffix,simple"},
	} {
		request.Parameter = proto.String(plugin.parameter)
		if err := generate(plugin.name, request, dir); err != nil {
			return fmt.Errorf("%s: %w", plugin.name, err)
		}
	}
	return nil
}

// add adds a file to the request after its imports.
func add(
	request *pluginpb.CodeGeneratorRequest, f protoreflect.FileDescriptor, seen map[string]bool,
) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		add(request, f.Imports().Get(i).FileDescriptor, seen)
	}
	p, ok := f.(interface {
		FileDescriptorProto() *descriptorpb.FileDescriptorProto
	})
	if ok {
		request.ProtoFile = append(request.ProtoFile, p.FileDescriptorProto())
		return
	}
	request.ProtoFile = append(request.ProtoFile, protodesc.ToFileDescriptorProto(f))
}

// generate runs a plugin, a tool of this module, and writes the files of its answer.
func generate(plugin string, request *pluginpb.CodeGeneratorRequest, dir string) error {
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "tool", plugin)
	var output bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &output, os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output.Bytes(), &response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s", strings.TrimSpace(response.GetError()))
	}
	for _, f := range response.File {
		if err := os.WriteFile(filepath.Join(dir, f.GetName()), []byte(f.GetContent()),
			0o644); err != nil {
			return err
		}
	}
	return nil
}

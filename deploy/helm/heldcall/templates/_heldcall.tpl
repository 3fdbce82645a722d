{{- define "heldcall.labels" -}}
app.kubernetes.io/name: heldcall
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ .Values.mode }}
{{- end }}

{{- /* Not empty if several replicas can replace each other. A sidecar is lost together with its agent. */}}
{{- define "heldcall.shared" -}}
{{- if and (eq .Values.mode "gateway") (gt (int .Values.replicas) 1) }}true{{ end }}
{{- end }}

{{- define "heldcall.dns" -}}
to:
  - namespaceSelector:
      matchLabels: {kubernetes.io/metadata.name: kube-system}
    podSelector:
      matchLabels: {k8s-app: kube-dns}
ports: [{protocol: UDP, port: 53}, {protocol: TCP, port: 53}]
{{- end }}

{{- /* Where browsers reach the console through the ingress. */}}
{{- define "heldcall.url" -}}
{{ ternary "https" "http" (ne .Values.ingress.tlsSecret "") }}://{{ .Values.ingress.host }}
{{- end }}

{{- define "heldcall.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $proxy := $config.proxy | default dict }}
{{- $_ := set $proxy "listen" (ternary "127.0.0.1:4141" "0.0.0.0:4141" (eq .Values.mode "sidecar")) }}
{{- if .Values.ingress.enabled }}
{{- $_ := set $config "console" (merge ($config.console | default dict) (dict "url" (include "heldcall.url" .))) }}
{{- end }}
{{- $nats := dict "url" .Values.nats.url "listen" "" "dir" "/data" }}
{{- if .Values.nats.credsSecret }}{{ $_ := set $nats "creds" "/etc/heldcall-secret/nats.creds" }}{{ end }}
{{- $_ := set $config "proxy" $proxy }}
{{- $_ := set $config "audit" (merge (dict "dir" "/audit") ($config.audit | default dict)) }}
{{- $_ := set $config "nats" $nats }}
{{- $_ := set $config "policy" (merge (dict "file" "policy.yaml") ($config.policy | default dict)) }}
{{- toYaml $config }}
{{- end }}

{{- define "heldcall.container" -}}
name: heldcall
image: {{ printf "%s:%s" .Values.image.repository .Values.image.tag | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args: [serve]
{{- if eq .Values.mode "sidecar" }}
restartPolicy: Always
{{- end }}
env:
  - {name: HELDCALL_CONFIG, value: /etc/heldcall/heldcall.yaml}
  {{- with .Values.extraEnv }}{{ toYaml . | nindent 2 }}{{ end }}
envFrom:
  - secretRef: {name: {{ .Values.secret }}}
ports:
  - {name: agents, containerPort: 4141}
  - {name: console, containerPort: 4142}
startupProbe:
  httpGet: {path: {{ ternary "/readyz" "/healthz" (eq .Values.mode "sidecar") }}, port: console}
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: console}
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: /readyz, port: console}
  periodSeconds: 5
  timeoutSeconds: 5
resources: {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: config, mountPath: /etc/heldcall, readOnly: true}
  {{- if .Values.nats.credsSecret }}
  - {name: secret, mountPath: /etc/heldcall-secret, readOnly: true}
  {{- end }}
  - {name: audit, mountPath: /audit}
  {{- if not .Values.nats.url }}
  - {name: data, mountPath: /data}
  {{- end }}
  {{- with .Values.extraVolumeMounts }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}

{{- define "heldcall.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
terminationGracePeriodSeconds: 60
{{- range $field := list "imagePullSecrets" "serviceAccountName" "priorityClassName" "nodeSelector" "tolerations" "affinity" }}
{{- with index $.Values $field }}
{{ $field }}: {{ toJson . }}
{{- end }}
{{- end }}
{{- if and (include "heldcall.shared" .) .Values.topologySpread.keys }}
topologySpreadConstraints:
  {{- range .Values.topologySpread.keys }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: {{ $.Values.topologySpread.whenUnsatisfiable }}
    labelSelector:
      matchLabels: {{- include "heldcall.labels" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: config
    configMap: {name: {{ .Release.Name }}}
  {{- if .Values.nats.credsSecret }}
  - name: secret
    secret:
      secretName: {{ .Values.nats.credsSecret }}
      defaultMode: 0440
      items: [{key: nats.creds, path: nats.creds}]
  {{- end }}
  {{- if or (eq .Values.mode "sidecar") .Values.nats.url }}
  - name: audit
    emptyDir: {}
  {{- end }}
  {{- if and (eq .Values.mode "sidecar") (not .Values.nats.url) }}
  - name: data
    emptyDir: {}
  {{- end }}
  {{- with .Values.extraVolumes }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}

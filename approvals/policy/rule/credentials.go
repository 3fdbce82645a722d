package rule

import (
	"regexp"
	"sync"
)

// credentials are the forms of credentials that their issuers have made recognizable. Guesses by entropy
// or by the names of variables are left out: a result that is changed without need misleads
// the model.
//
// The patterns are those of gitleaks v8.30.1 (config/gitleaks.toml, MIT licence), by the id
// in kind or several of one issuer together, without the delimiters after the token, which are given there for files of source
// code. The others have their source beside them. gitleaks as a library would add 66 modules.
var credentials = sync.OnceValue(func() []form {
	return []form{
		token("1password-service-account-token", `ops_eyJ[a-zA-Z0-9+/]{250,}={0,3}`, "ops_eyJ"),
		token("age-secret-key", `AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}`, "AGE-SECRET-KEY-1"),
		token("anthropic-api-key", `\bsk-ant-(?:api03|admin01)-[a-zA-Z0-9_\-]{93}AA`, "sk-ant-"),
		token("aws-access-token", `\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`, "A3T", "AKIA", "ASIA", "ABIA", "ACCA"),
		// github.com/awslabs/git-secrets 1.3.0, --register-aws
		token("aws-secret-key", `(?i:aws_?(?:secret)?_?(?:access)?_?key["']?\s*(?::|=>|=)\s*["']?)([A-Za-z0-9/+=]{40})`, "aws", "AWS", "Aws"),
		token("databricks-api-token", `\bdapi[a-f0-9]{32}(?:-\d)?\b`, "dapi"),
		token("digitalocean-token", `\bdo[opr]_v1_[a-f0-9]{64}\b`, "_v1_"),
		token("doppler-api-token", `dp\.pt\.[A-Za-z0-9]{43}`, "dp.pt."),
		token("gcp-api-key", `\bAIza[\w-]{35}`, "AIza"),
		token("github-token", `\b(?:gh[pousr]_[0-9a-zA-Z]{36}|github_pat_\w{82})`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
		token("gitlab-pat", `\bglpat-[\w-]{20}`, "glpat-"),
		token("grafana-service-account-token", `\bglsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}`, "glsa_"),
		token("heroku-api-key", `\bHRKU-AA[0-9a-zA-Z_-]{58}`, "HRKU-AA"),
		token("huggingface-access-token", `\bhf_[A-Za-z]{34}`, "hf_"),
		token("jwt", `\bey[a-zA-Z0-9]{17,}\.ey[a-zA-Z0-9/\\_-]{17,}\.[a-zA-Z0-9/\\_-]{10,}={0,2}`, ".ey"),
		token("linear-api-key", `\blin_api_[A-Za-z0-9]{40}`, "lin_api_"),
		token("notion-api-token", `\bntn_[0-9]{11}[A-Za-z0-9]{35}`, "ntn_"),
		token("npm-access-token", `\bnpm_[A-Za-z0-9]{36}`, "npm_"),
		token("openai-api-key", `\bsk-(?:(?:proj|svcacct|admin)-(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58})T3BlbkFJ(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58})|[a-zA-Z0-9]{20}T3BlbkFJ[a-zA-Z0-9]{20})`, "T3BlbkFJ"),
		// RFC 7468, RFC 4880 section 6.2; a key that was cut before its end counts too.
		token("private-key", `-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----|\z)`, "PRIVATE KEY"),
		token("pypi-upload-token", `pypi-AgEIcHlwaS5vcmc[\w-]{50,1000}`, "pypi-AgEIcHlwaS5vcmc"),
		token("rubygems-api-token", `\brubygems_[a-f0-9]{48}\b`, "rubygems_"),
		token("sendgrid-api-token", `\bSG\.[A-Za-z0-9=_\-.]{66}`, "SG."),
		token("shopify-token", `\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}`, "shpat_", "shpca_", "shppa_", "shpss_"),
		token("slack-token", `\bxox(?:b-[0-9]{10,13}-[0-9]{10,13}[a-zA-Z0-9-]*|[pe](?:-[0-9]{10,13}){3}-[a-zA-Z0-9-]{28,34})`, "xoxb-", "xoxp-", "xoxe-"),
		token("slack-app-token", `\bxapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+`, "xapp-"),
		token("slack-webhook-url", `hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{43,56})`, "hooks.slack.com/"),
		token("stripe-access-token", `\b(?:sk|rk)_(?:test|live|prod)_[a-zA-Z0-9]{10,99}`, "_test_", "_live_", "_prod_"),
		token("hashicorp-tf-api-token", `[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9\-_=]{60,70}`, ".atlasv1."),
		// RFC 3986 section 3.2.1: the password in the user information of a URL.
		token("url-password", `\b[a-zA-Z][a-zA-Z0-9+.-]{0,30}://[^\s/:@"'<>]{0,200}:([^\s/@"'<>]{1,200})@[\w\[]`, "://"),
		token("vault-service-token", `\bhvs\.[\w-]{90,120}`, "hvs."),
	}
})

func token(kind, pattern string, marks ...string) form {
	return form{kind, marks, regexp.MustCompile(pattern)}
}

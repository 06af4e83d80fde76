import { formatPath, type Diagnostic, type Path } from './diagnostic.ts';
import type { UpstreamConfig } from './network-config.ts';

type Env = Readonly<Record<string, string | undefined>>;
type Report = (path: Path, problem: string) => void;

/** Headers of the connection or the body. The gateway sets them. */
const gatewayHeaders: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Expands `${NAME}` and `${NAME:-default}` in an upstream's URLs and headers from the environment. */
export function expandVariables(
  upstream: UpstreamConfig,
  path: Path,
  env: Env,
  diagnostics: Diagnostic[],
): UpstreamConfig {
  const report: Report = (at, problem) => diagnostics.push({ path: at, message: `${formatPath(at)}: ${problem}` });
  const { headers } = upstream;
  const expanded: { -readonly [Name in keyof UpstreamConfig]: UpstreamConfig[Name] } = { ...upstream };
  for (const member of ['url', 'websocketUrl'] as const) {
    const text = upstream[member];
    if (text === undefined) continue;
    const at = [...path, member];
    const url = expandText(text, at, env, report);
    if (url === undefined) continue;
    checkUrl(url, member === 'url' ? 'http' : 'ws', at, report);
    expanded[member] = url;
  }
  if (headers !== undefined) {
    const expandedHeaders: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) {
      expandedHeaders[name] = expandHeader(name, value, [...path, 'headers', name], env, report);
    }
    expanded.headers = expandedHeaders;
  }
  return expanded;
}

/** @returns undefined after it has reported a missing or misspelt variable */
function expandText(text: string, at: Path, env: Env, report: Report): string | undefined {
  const problems: string[] = [];
  const expanded = text.replace(/\$\{([^}]*)(\}?)/g, (_, inside: string, end: string) => {
    const [, name = '', , fallback] = /^([A-Za-z_][A-Za-z0-9_]*)(:-(.*))?$/.exec(end === '' ? '' : inside) ?? [];
    const value = env[name];
    if (value !== undefined && value !== '') return value;
    if (fallback !== undefined) return fallback;
    if (name === '') problems.push('write a variable as ${NAME} or ${NAME:-default}');
    else problems.push(`the environment has no ${name}; set it, or write \${${name}:-default}`);
    return '';
  });
  for (const gap of problems) report(at, gap);
  return problems.length === 0 ? expanded : undefined;
}

function expandHeader(name: string, value: string, at: Path, env: Env, report: Report): string {
  if (gatewayHeaders.has(name.toLowerCase())) report(at, 'the gateway sets this header itself');
  const expanded = expandText(value, at, env, report) ?? '';
  if (!/^[ -~]*$/.test(expanded)) {
    report(at, 'after variable expansion, the value has a character that no header may have, such as a line break');
  }
  return expanded;
}

/** The report does not show the URL, because it may contain a provider's key. */
function checkUrl(url: string, scheme: 'http' | 'ws', at: Path, report: Report): void {
  const isOfScheme = url.startsWith(`${scheme}://`) || url.startsWith(`${scheme}s://`);
  if (!isOfScheme || /\s/.test(url) || !URL.canParse(url)) {
    report(at, `expected ${scheme} or ${scheme}s URL after variable expansion`);
  } else {
    const { username, password } = new URL(url);
    if (![username, password].every(isDecodable)) report(at, 'write % in user or password as %25');
  }
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

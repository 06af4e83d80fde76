import { formatPath, type Diagnostic, type Path } from './diagnostic.ts';
import type { UpstreamConfig } from './network-config.ts';

type Env = Readonly<Record<string, string | undefined>>;
type Report = (path: Path, problem: string) => void;

/** Headers that speak of the connection or of the body, which are ours. */
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

/** Fills `${NAME}` and `${NAME:-default}` in an upstream's URL and headers from the environment. */
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
    const given = upstream[member];
    if (given === undefined) continue;
    const at = [...path, member];
    const filled = expandText(given, at, env, report);
    if (filled === undefined) continue;
    checkUrl(filled, member === 'url' ? 'http' : 'ws', at, report);
    expanded[member] = filled;
  }
  if (headers !== undefined) {
    const filled: Record<string, string> = {};
    for (const [name, value] of Object.entries(headers)) {
      filled[name] = expandHeader(name, value, [...path, 'headers', name], env, report);
    }
    expanded.headers = filled;
  }
  return expanded;
}

/** @returns undefined where something is missing, and reports it */
function expandText(text: string, at: Path, env: Env, report: Report): string | undefined {
  const problems: string[] = [];
  const expanded = text.replace(/\$\{([^}]*)(\}?)/g, (_, inside: string, end: string) => {
    const [, name = '', , fallback] = /^([A-Za-z_][A-Za-z0-9_]*)(:-(.*))?$/.exec(end === '' ? '' : inside) ?? [];
    const value = env[name];
    if (value !== undefined && value !== '') return value;
    if (fallback !== undefined) return fallback;
    if (name === '') problems.push('a variable is written ${NAME} or ${NAME:-default}');
    else problems.push(`the environment has no ${name}; set it, or write \${${name}:-default}`);
    return '';
  });
  for (const gap of problems) report(at, gap);
  return problems.length === 0 ? expanded : undefined;
}

function expandHeader(name: string, value: string, at: Path, env: Env, report: Report): string {
  if (gatewayHeaders.has(name.toLowerCase())) report(at, 'the gateway sets this header by itself');
  const expanded = expandText(value, at, env, report) ?? '';
  if (!/^[ -~]*$/.test(expanded)) {
    report(at, 'once variables are filled in, there is a character that no header may have, such as a line break');
  }
  return expanded;
}

/** The value is not shown: it may hold a provider's key. */
function checkUrl(url: string, scheme: 'http' | 'ws', at: Path, report: Report): void {
  const isOfScheme = url.startsWith(`${scheme}://`) || url.startsWith(`${scheme}s://`);
  if (!isOfScheme || /\s/.test(url) || !URL.canParse(url)) {
    report(at, `expected ${scheme} or ${scheme}s URL, also once variables are filled in`);
  } else {
    const { username, password } = new URL(url);
    if (![username, password].every(isDecodable)) report(at, 'a % in user or password is written %25');
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

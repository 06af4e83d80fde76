import { describe, expect, it } from 'vitest';
import { secretSettings } from '../../gateway/config/settings.ts';
import { readNetwork } from '../../gateway/network-files/read-network.ts';
import { positions } from '../support/property-runs.ts';
import { good, knownMethods, loadFiles, diagnosticsOf } from './load.ts';

const secret = 'S3CRET';

const characters: readonly string[] = ' :,*&|\'"{}[]#\n'.match(/./gs) ?? [];

const file = [
  'name: Base',
  'chainId: 8453',
  'upstreams:',
  '  - name: one',
  `    url: https://user:${secret}@one.example/v2/${secret}?key=${secret}`,
  '    headers:',
  `      authorization: "Bearer ${secret}"`,
  `      x-key: ${secret}`,
  `  - { name: two, url: https://two.example/${secret}, headers: { x-key: ${secret} } }`,
  '',
].join('\n');

const messagesOf = (yaml: string, env: Record<string, string> = {}): string[] =>
  readNetwork('base', yaml, { folder: '.', knownMethods, env }).diagnostics.map(({ message }) => message);

describe('a diagnostic shows no value', () => {
  it('with any single character missing', () => {
    expect(messagesOf(file)).toEqual([]);
    const leaks = everyOffset().filter((at) => hasLeak(file.slice(0, at) + file.slice(at + 1)));
    expect(leaks).toEqual([]);
  });

  it.each(characters)('with an extra character %j at any position', (character) => {
    // Other positions for each character.
    const from = characters.indexOf(character);
    const leaks = [...positions(from, file.length)].filter((at) =>
      hasLeak(file.slice(0, at) + character + file.slice(at)),
    );
    expect(leaks).toEqual([]);
  });

  it('with a value of the wrong type', () => {
    for (const wrong of ['name', 'chainId', 'baseUrls', 'methods', 'upstreams']) {
      const lines = file.split('\n').filter((line) => !line.startsWith(wrong));
      const diagnostics = messagesOf(
        [...lines.slice(wrong === 'upstreams' ? 99 : 0), `${wrong}: { a: [${secret}] }`].join('\n'),
      );
      expect(diagnostics.join()).toContain(`${wrong}: expected`);
      expect(diagnostics.join()).not.toContain(secret);
    }
  });

  it('from the environment', () => {
    const url = (text: string): string[] => [...good.slice(0, 4), `    url: ${text}`];
    expect(diagnosticsOf(url('${URL}'), { URL: `ftp://${secret}` })).toEqual([
      '5:10 upstreams[0].url: expected http or https URL after variable expansion',
    ]);
    expect(diagnosticsOf(url('https://${HOST}/'), { HOST: `${secret} ${secret}` })).toEqual([
      '5:10 upstreams[0].url: expected http or https URL after variable expansion',
    ]);
    expect(diagnosticsOf(url('https://${WHO}@one.example/'), { WHO: `me:%${secret}` })).toEqual([
      '5:10 upstreams[0].url: write % in user or password as %25',
    ]);
    expect(diagnosticsOf([...good, '    headers: { x-key: "${TOKEN}" }'], { TOKEN: `${secret}\n` })).toEqual([
      '6:23 upstreams[0].headers.x-key: after variable expansion, the value has a character that no header may have, ' +
        'such as a line break',
    ]);
    // The header must be removed, whatever its value.
    expect(diagnosticsOf([...good, '    headers: { te: "${TOKEN}" }'], { TOKEN: `${secret}\n` })).toEqual([
      '6:20 upstreams[0].headers.te: the gateway sets this header itself',
    ]);
  });
});

describe('variables', () => {
  const upstream = (...lines: string[]) => [...good.slice(0, 4), ...lines.map((line) => `    ${line}`)].join('\n');
  const expandedUpstream = (lines: string[], env: Record<string, string> = {}) =>
    loadFiles({ 'base.yaml': upstream(...lines) }, env)[0]?.upstreams[0];

  it.each([
    ['${URL}', { URL: 'https://a.example/x' }, 'https://a.example/x'],
    ['https://a.example/${KEY}/x', { KEY: 'k' }, 'https://a.example/k/x'],
    ['https://${HOST}.example/${KEY}${KEY}', { HOST: 'a', KEY: 'k' }, 'https://a.example/kk'],
    ['https://a.example/${KEY:-public}', {}, 'https://a.example/public'],
    ['https://a.example/${KEY:-public}', { KEY: '' }, 'https://a.example/public'],
    ['https://a.example/${KEY:-public}', { KEY: 'k' }, 'https://a.example/k'],
    ['https://a.example/${KEY:-}', {}, 'https://a.example/'],
    ['https://a.example/$KEY', { KEY: 'k' }, 'https://a.example/$KEY'],
  ])('are expanded in the URL %s', (url, env, expected) => {
    expect(expandedUpstream([`url: ${url}`], env)?.url).toBe(expected);
  });

  it('are expanded in headers, and nowhere else', () => {
    const headers = 'headers: { authorization: "Bearer ${TOKEN}", x-id: "${ID:-7}" }';
    const env = { TOKEN: '${ID}', NAME: 'x' };
    // The value of a variable is not expanded again.
    expect(expandedUpstream(['url: https://a.example', headers], env)?.headers).toEqual({
      authorization: 'Bearer ${ID}',
      'x-id': '7',
    });
    expect(diagnosticsOf(['name: Base', 'chainId: ${NAME}', ...good.slice(2)], env)).toHaveLength(1);
    expect(loadFiles({ 'base.yaml': ['name: ${NAME}', ...good.slice(1)].join('\n') }, env)[0]?.name).toBe('${NAME}');
  });

  it.each([
    ['url: ${NOPE}', '5:10 upstreams[0].url: the environment has no NOPE; set it, or write ${NOPE:-default}'],
    ['url: https://a/${A}', '5:10 upstreams[0].url: the environment has no A; set it, or write ${A:-default}'],
    ['url: https://a/${A:b}', '5:10 upstreams[0].url: write a variable as ${NAME} or ${NAME:-default}'],
    ['url: https://a/${}', '5:10 upstreams[0].url: write a variable as ${NAME} or ${NAME:-default}'],
    ['url: https://a/${1A}', '5:10 upstreams[0].url: write a variable as ${NAME} or ${NAME:-default}'],
    ['url: https://a/${A', '5:10 upstreams[0].url: write a variable as ${NAME} or ${NAME:-default}'],
  ])('are reported if they are missing or misspelt: %s', (line, diagnostic) => {
    expect(diagnosticsOf(upstream(line))).toEqual([diagnostic]);
  });

  it.each([...secretSettings])('with a credential of the gateway are rejected: %s', (name) => {
    const env = { [name]: `https://a.example/${secret}` };
    const reason = `${name} is a credential of the gateway, which no upstream may get; use another variable`;
    const lines = [`url: \${${name}}`, `headers: { a: "x \${${name}:-y}" }`];
    expect(diagnosticsOf(upstream(...lines), env)).toEqual([
      `5:10 upstreams[0].url: ${reason}`,
      `6:19 upstreams[0].headers.a: ${reason}`,
    ]);
  });

  it('with a credential of the gateway are those that the environment has', () => {
    const ofWebhook = ['EVENTS_WEBHOOK_URL', 'EVENTS_WEBHOOK_SECRET'];
    const ofExports = ['ENDPOINT', 'TRACES_ENDPOINT', 'HEADERS', 'TRACES_HEADERS'].map(
      (name) => `OTEL_EXPORTER_OTLP_${name}`,
    );
    expect([...secretSettings]).toEqual([
      ...['ADMIN_TOKEN', 'ADMIN_TOKENS', 'REDIS_URL', ...ofWebhook, ...ofExports, 'CACHE_REDIS_URL'],
    ]);
  });

  it('are reported for each header', () => {
    const headers = 'headers: { a: "${A}", b: "${B}" }';
    expect(diagnosticsOf(upstream('url: https://a', headers))).toEqual([
      '6:19 upstreams[0].headers.a: the environment has no A; set it, or write ${A:-default}',
      '6:30 upstreams[0].headers.b: the environment has no B; set it, or write ${B:-default}',
    ]);
  });

  it('are reported beside other diagnostics', () => {
    expect(diagnosticsOf([...good.slice(0, 4), '    url: ${NOPE}', '    timeout: 5', 'methods: [eht]'])).toEqual([
      '5:10 upstreams[0].url: the environment has no NOPE; set it, or write ${NOPE:-default}',
      '6:5 upstreams[0].timeout is not known: write failsafe: { timeoutMs: … }',
      '7:11 methods[0]: eht is neither a namespace nor a method of the spec; did you mean eth?',
    ]);
  });
});

function everyOffset(): number[] {
  return Array.from({ length: file.length }, (_, at) => at);
}

function hasLeak(yaml: string): boolean {
  return messagesOf(yaml).some((message) => message.includes(secret));
}

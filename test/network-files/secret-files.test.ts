import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { diagnosticsOf, good, loadFiles } from './load.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-secrets-'));
  writeFileSync(join(folder, 'token'), 'S3CRET-token\n');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const file = (name: string): string => `\${file:${join(folder, name)}}`;
const withHeader = (value: string): string[] => [...good, `    headers: { authorization: ${JSON.stringify(value)} }`];

describe('${file:/path}', () => {
  it('is the text of the file, in URLs, headers and keys', () => {
    writeFileSync(join(folder, 'key'), 'aBcDeFgHiJkLmNoP\r\n');
    symlinkSync(join(folder, 'token'), join(folder, 'link'));
    const lines = [
      ...[
        'name: Base',
        'chainId: 8453',
        'upstreams:',
        '  - name: one',
        `    url: 'https://one.example/${file('token')}'`,
      ],
      `    headers: { authorization: 'Bearer ${file('link')}', x-id: '\${ID:-7}' }`,
      `  - { provider: drpc, key: '${file('key')}' }`,
    ];
    const [network] = loadFiles({ 'base.yaml': lines.join('\n') });
    expect(network?.upstreams).toMatchObject([
      { url: 'https://one.example/S3CRET-token', headers: { authorization: 'Bearer S3CRET-token', 'x-id': '7' } },
      { url: 'https://lb.drpc.org/ogrpc?network=base&dkey=aBcDeFgHiJkLmNoP' },
    ]);
  });

  it('is not expanded again', () => {
    writeFileSync(join(folder, 'token'), '${HOME}');
    const [network] = loadFiles({ 'base.yaml': withHeader(file('token')).join('\n') }, { HOME: 'x' });
    expect(network?.upstreams[0]?.headers).toEqual({ authorization: '${HOME}' });
  });

  it.each<[string, () => string, string | RegExp]>([
    ['that does not exist', () => file('nope'), /\/nope cannot be read \(ENOENT\)$/],
    ['that is empty', () => file('empty'), /\/empty is empty$/],
    ['that is a folder', () => file('sub'), /\/sub is not a file$/],
    ['that is too large', () => file('large'), /\/large is larger than 1 MB$/],
    ['with two lines', () => file('lines'), /a character that no header may have, such as a line break$/],
    ['of this process', () => '${file:/proc/self/environ}', /^.*\/proc\/self\/environ is in \/proc, \/sys or \/dev$/],
    ['that links to /proc', () => file('environment'), /\/environment is in \/proc, \/sys or \/dev$/],
    ['in /sys', () => '${file:/sys/kernel/mm/transparent_hugepage/enabled}', /is in \/proc, \/sys or \/dev$/],
    ['in /dev', () => '${file:/dev/stdin}', /\/dev\/stdin is in \/proc, \/sys or \/dev$/],
    ['without a full path', () => '${file:token}', 'write a file with its full path: ${file:/run/secrets/name}'],
    ['without its end', () => '${file:/token', 'write a variable as ${NAME} or ${NAME:-default}'],
  ])('%s has a diagnostic with its position, and without its text', (_, value, message) => {
    writeFileSync(join(folder, 'empty'), '\n');
    symlinkSync('/proc/self/environ', join(folder, 'environment'));
    writeFileSync(join(folder, 'lines'), 'S3CRET\nS3CRET');
    writeFileSync(join(folder, 'large'), 'S3CRET'.repeat(200_000));
    mkdirSync(join(folder, 'sub'));
    const found = diagnosticsOf(withHeader(value()));
    const expected: unknown =
      typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message);
    expect(found).toEqual([expected]);
    expect(found[0]).toMatch(/^6:31 upstreams\[0\]\.headers\.authorization: /);
    expect(found[0]).not.toContain('S3CRET');
  });
});

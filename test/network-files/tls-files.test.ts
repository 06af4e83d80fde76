import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readFolder } from '../../gateway/network-files/load-networks.ts';
import { makeAuthority } from '../support/authority.ts';
import { diagnosticsOf, good, loadFiles } from './load.ts';

let folder: string;
let pems: Readonly<Record<string, string>>;

beforeAll(() => {
  const authority = makeAuthority('Test');
  const [one, two] = [authority.issue(), authority.issue()];
  const files = { 'ca.pem': authority.ca, 'one.pem': one.cert, 'one.key': one.key, 'two.key': two.key };
  const half = authority.ca.slice(0, -60);
  pems = { ...files, empty: '', half, text: 'S3CRET', 'half.key': one.key.slice(0, 80) };
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-tls-'));
  mkdirSync(path('sub'));
  for (const [name, text] of Object.entries(pems)) writeFileSync(path(name), text);
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const path = (name: string): string => join(folder, name);
const withTls = (tls: object): string[] => [...good, `    tls: ${JSON.stringify(tls)}`];

describe('tls of an upstream', () => {
  it('has the contents of its files, by path or as ${file:…}', () => {
    const tls = { ca: path('ca.pem'), cert: path('one.pem'), key: `\${file:${path('one.key')}}` };
    const [network] = loadFiles({ 'base.yaml': withTls(tls).join('\n') });
    const certificate: unknown = expect.stringMatching(/^-----BEGIN CERTIFICATE-----\n/);
    const key: unknown = expect.stringMatching(/^-----BEGIN PRIVATE KEY-----\n/);
    expect(network?.upstreams[0]?.tls).toEqual({ ca: certificate, cert: certificate, key });
  });

  it.each<[string, () => object, string]>([
    ['a file that is missing', () => ({ ca: path('nope') }), '.ca: <path>nope cannot be read (ENOENT)'],
    ['an empty file', () => ({ ca: path('empty') }), '.ca: <path>empty is empty'],
    ['a folder', () => ({ ca: path('sub') }), '.ca: <path>sub is not a file'],
    [
      'a file that is not complete',
      () => ({ ca: path('half') }),
      '.ca: a certificate cannot be read, or the file is not complete',
    ],
    ['a file that is no certificate', () => ({ ca: path('text') }), '.ca: expected certificates in PEM form'],
    ['a text that is no certificate', () => ({ ca: '${X:-S3CRET}' }), '.ca: expected certificates in PEM form'],
    [
      'half of a key',
      () => ({ cert: path('one.pem'), key: path('half.key') }),
      '.key: expected a private key in PEM form, without a passphrase',
    ],
    [
      'the key of another certificate',
      () => ({ cert: path('one.pem'), key: path('two.key') }),
      ': the private key does not belong to the certificate',
    ],
    [
      'a certificate without its key',
      () => ({ cert: path('one.pem') }),
      '.key is missing: expected full path of a PEM file, or ${file:/path}',
    ],
    ['a path that is not full', () => ({ ca: 'ca.pem' }), '.ca: expected full path of a PEM file, or ${file:/path}'],
    ['a variable in a path', () => ({ ca: '/${X}/ca.pem' }), '.ca: write the path without variables, or ${file:/path}'],
    ['another name', () => ({ chain: path('ca.pem') }), '.chain is not known'],
  ])('with %s has a diagnostic with its position', (_, tls, message) => {
    const found = diagnosticsOf(withTls(tls()));
    expect(found.map((line) => line.replaceAll(`${folder}/`, '<path>'))).toEqual([
      expect.stringMatching(/^6:\d+ upstreams\[0\]\.tls/),
    ]);
    expect(found[0]?.replaceAll(`${folder}/`, '<path>').replace(/^6:\d+ upstreams\[0\]\.tls/, '')).toContain(message);
    expect(found[0]).not.toContain('S3CRET');
  });

  it('needs an https or wss URL', () => {
    const plain = withTls({ ca: path('ca.pem') })
      .join('\n')
      .replace('https:', 'http:');
    expect(diagnosticsOf(plain)).toEqual(['6:10 upstreams[0].tls: no URL of the upstream is https or wss']);
    expect(diagnosticsOf(`${plain}\n    websocketUrl: wss://one.example`)).toEqual([]);
  });

  it('has files that are watched, as those of ${file:…} are', () => {
    mkdirSync(path('networks'));
    const tls = { ca: path('ca.pem'), cert: path('one.pem'), key: `\${file:${path('one.key')}}` };
    writeFileSync(path('networks/base.yaml'), withTls(tls).join('\n'));
    const before = readFolder(path('networks'));
    expect(before.secretFiles).toEqual([path('ca.pem'), path('one.key'), path('one.pem')]);
    writeFileSync(path('ca.pem'), 'other');
    expect(readFolder(path('networks')).version).not.toBe(before.version);
  });
});

describe('proxyUrl of an upstream', () => {
  it.each([
    ['https://proxy.example:3128', 'expected http URL of a proxy'],
    ['${X:-https://user:S3CRET@proxy.example}', 'expected http URL: connections to the proxy itself have no TLS'],
    ['http://user:S3CRET@proxy.example/path', 'expected host and port of the proxy, without a path'],
    ['socks5://proxy.example', 'expected http URL of a proxy'],
    ['${MISSING}', 'the environment has no MISSING; set it, or write ${MISSING:-default}'],
  ])('%s has a diagnostic without its value', (proxyUrl, message) => {
    const found = diagnosticsOf([...good, `    proxyUrl: '${proxyUrl}'`]);
    expect(found).toEqual([expect.stringMatching(/^6:15 upstreams\[0\]\.proxyUrl: /)]);
    expect(found[0]).toContain(message);
    expect(found[0]).not.toContain('S3CRET');
  });

  it('is not for a spawned node', () => {
    const lines = [...good.slice(0, 4), '    spawn: anvil', '    proxyUrl: http://proxy.example:3128'];
    expect(diagnosticsOf(lines)).toEqual(['6:15 upstreams[0].proxyUrl: a spawned node is reached without a proxy']);
  });
});

it('maxResponseBytes of an upstream is a whole number', () => {
  expect(diagnosticsOf([...good, '    maxResponseBytes: 0'])).toEqual([
    '6:23 upstreams[0].maxResponseBytes: expected whole number from 1',
  ]);
});

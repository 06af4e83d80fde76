import { describe, expect, it } from 'vitest';
import { credentialsOf, Secrets } from '../../../gateway/upstreams/transport/credentials.ts';

const secretsOf = (url: string, headers: Record<string, string> = {}): Secrets =>
  new Secrets(credentialsOf(url, headers).secrets);

const local = 'http://localhost:8545';
const token = 'T0ken+Of/Ours==';
const password = 'pass w/rd:1';
const pair = `me:${password}`;
const withPassword = local.replace('//', `//me:${encodeURIComponent(password)}@`);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('an upstream’s secrets', () => {
  it.each([
    ['path', `${local}/v2/AbCdEfGhIjKlMnOp`, {}, 'AbCdEfGhIjKlMnOp'],
    ['short segment with a digit', `${local}/k3yk3yk3`, {}, 'k3yk3yk3'],
    ['encoded path', `${local}/v2/${encodeURIComponent(token)}`, {}, encodeURIComponent(token)],
    ['decoded path', `${local}/v2/${encodeURIComponent(token)}`, {}, token],
    ['path, which a node encodes', `${local}/v2/T0ken+Of@Ours`, {}, 'T0ken%2BOf%40Ours'],
    ['query', `${local}/?apikey=abcdefgh`, {}, 'abcdefgh'],
    ['query, with + for a space', `${local}/?key=ab+cdefgh`, {}, 'ab cdefgh'],
    ['query without a value', `${local}/?k3yk3yk3`, {}, 'k3yk3yk3'],
    ['user', local.replace('//', '//operator:password@'), {}, 'operator'],
    ['short user, in the pair', withPassword, {}, `me:${encodeURIComponent(password)}`],
    ['encoded password', withPassword, {}, encodeURIComponent(password)],
    ['decoded password', withPassword, {}, password],
    ['decoded pair', withPassword, {}, pair],
    ['base64 pair', withPassword, {}, base64(pair)],
    ['base64 pair without padding', withPassword, {}, base64(pair).replace(/=+$/, '')],
    ['base64 pair in the alphabet of URLs', withPassword, {}, Buffer.from(pair).toString('base64url')],
    ['header', local, { 'x-key': token }, token],
    ['bearer token', local, { authorization: `Bearer ${token}` }, token],
    ['part of a cookie', local, { cookie: `a=b; session=${token}` }, token],
    ['password of a basic header', local, { authorization: `Basic ${base64(pair)}` }, password],
    ['pair of a basic header', local, { authorization: `Basic ${base64(pair)}` }, pair],
  ])('are removed: %s', (_, url, headers, secret) => {
    const secrets = secretsOf(url, headers);
    const shown = secrets.removeFrom(`failed: "x${secret}y" is wrong`);
    expect(shown).toMatch(/^failed: (<upstream>)+ is wrong$/);
    const json = JSON.stringify({ a: [`1 ${secret} 2`, true], [secret]: { n: 1.5 } });
    const redacted = JSON.stringify(JSON.parse(secrets.removeFromJson(json)));
    expect(redacted).toMatch(/^\{"a":\["1 (<upstream>)+ 2",true\],"(<upstream>)+":\{"n":1.5\}\}$/);
  });

  it('are removed from messages in any case', () => {
    expect(secretsOf(`${local}/v2/AbCdEfGhIjKlMnOp`).removeFrom('no ABCDEFGHIJKLMNOP')).toBe('no <upstream>');
  });

  it('include its host, which is removed from errors, and from results with a credential', () => {
    expect(secretsOf('https://rpc.example/v2/x').removeFrom('at rpc.example:443')).toBe('at <upstream>');
    expect(secretsOf(local).removeFrom('at localhost:8545')).toBe('at <upstream>');
    const json = '["localhost:8545","k3yk3yk3"]';
    expect(secretsOf(local).removeFromJson(json)).toBe(json);
    expect(secretsOf(`${local}/k3yk3yk3`).removeFromJson(json)).toBe('["<upstream>","<upstream>"]');
  });

  it('are removed from JSON that escapes them', () => {
    const secrets = secretsOf(local, { 'x-key': token });
    const escaped = token.replace('/', '\\/').replace('T', '\\u0054');
    expect(secrets.removeFromJson(`{"a":"${escaped}"}`)).toBe('{"a":"<upstream>"}');
  });

  it('are removed from words before and after one another', () => {
    const secrets = secretsOf(withPassword);
    expect(secrets.removeFrom(`a localhost:8545/${password} b ${password}`)).toBe('a <upstream> b <upstream>');
  });

  it('with a secret in hexadecimal, the data of an error is omitted', () => {
    const error = { kind: 'error', code: 3, message: 'reverted', data: `0x08c379a0${'00'.repeat(63)}` } as const;
    const secrets = secretsOf(local, { 'x-key': token });
    expect(secrets.removeFromError(error)).toEqual(error);
    const data = error.data + Buffer.from(` ${token}`).toString('hex');
    for (const hidden of [data, `0x${data.slice(2).toUpperCase()}`]) {
      expect(secrets.removeFromError({ ...error, data: hidden })).toEqual({ ...error, data: undefined });
    }
  });

  it.each([
    ['a path', { path: '/v2/1/rpc?apikey=pim_ABCDEFGH1234' }, { path: '<upstream>' }],
    ['a text', 'invalid key pim_abcdefgh1234', 'invalid key <upstream>'],
    ['a header in a list', [{ headers: ['x-key', token] }], [{ headers: ['x-key', '<upstream>'] }]],
    ['a name', { pim_ABCDEFGH1234: 1, valid: 2 }, { '<upstream>': 1, valid: 2 }],
    ['the host', { at: 'api.bundler.example:443', port: 443 }, { at: '<upstream>', port: 443 }],
    [
      'hexadecimal inside',
      { inner: `0x${Buffer.from(token).toString('hex')}`, paymaster: `0x${'ab'.repeat(20)}` },
      { inner: '<upstream>', paymaster: `0x${'ab'.repeat(20)}` },
    ],
  ])('are removed from the data of an error that a bundler returns: %s', (_, data, shown) => {
    const secrets = secretsOf('https://api.bundler.example/v2/1/rpc?apikey=pim_ABCDEFGH1234', { 'x-key': token });
    expect(secrets.removeFromError({ kind: 'error', code: -32500, message: 'AA21', data }).data).toEqual(shown);
  });

  it.each([
    ['common words of paths', 'https://rpc.example/ethereum/mainnet/v1', 'ethereum mainnet v1'],
    ['short values', 'http://me:geth@localhost:8545/?network=base', 'geth me base'],
  ])('do not include %s', (_, url, text) => {
    expect(secretsOf(url).removeFrom(text)).toBe(text);
  });

  it('hexadecimal values stay as they are', () => {
    const secrets = secretsOf(`${local}/12345678`);
    const hex = '{"data":"0xff12345678ff","note":"see \\"x\\""}';
    expect(secrets.removeFromJson(hex)).toBe(hex);
  });

  const filler = `0x${'ab'.repeat(100_000)}`;

  it.each([
    ['as it is', 'k3yOfOursWith/Slash'],
    ['in lower case', 'k3yofourswith/slash'],
    ['in upper case', 'K3YOFOURSWITH/SLASH'],
    ['percent-encoded in lower case', 'k3yOfOursWith%2fSlash'],
    ['escaped', 'k3yOfOurs\\u0057ith\\/Slash'],
    ['partly in other case, beside one that is not', 'k3yOfOursWith/Slash K3YofOursWITH/sLASH'],
  ])('are removed from a long result, %s', (_, echoed) => {
    const secrets = secretsOf(local, { 'x-key': 'k3yOfOursWith/Slash' });
    const json = `["${filler}","${echoed}"]`;
    expect(secrets.areIn(json)).toBe(true);
    const [first, ...others] = JSON.parse(secrets.removeFromJson(json)) as string[];
    expect(first).toBe(filler);
    expect(others.join(' ')).toMatch(/^(<upstream> ?)+$/);
  });

  it.each([
    ['hexadecimal', '9f86d081884c7d659a2feaa0c55ad015', '9f86d081884c7d659a2feaa0c55ad015'],
    ['hexadecimal in upper case', '9f86d081884c7d659a2feaa0c55ad015', '9F86D081884C7D659A2FEAA0C55AD015'],
    ['of characters beyond ASCII', 'пароль-наш-и-ваш', 'ПАРОЛЬ-НАШ-И-ВАШ'],
  ])('that are long are removed from a long result: %s', (_, secret, echoed) => {
    const secrets = secretsOf(withPassword, { 'x-key': secret, 'x-other': 'T0kenOfOursThatIsEvenLonger' });
    for (const before of ['', ' ', '  ', '   ']) {
      const json = `["${filler}${before}","${echoed}"]`;
      expect(secrets.areIn(json)).toBe(true);
      expect(JSON.parse(secrets.removeFromJson(json))).toEqual([`${filler}${before}`, '<upstream>']);
    }
    expect(secrets.areIn(`["${filler}","${echoed.slice(1)}"]`)).toBe(false);
  });

  it.each(['a"b/c d<e', 'пароль-наш'])('of characters that JSON escapes are found: %s', (secret) => {
    const secrets = secretsOf(local, { 'x-key': secret });
    const escaped = JSON.stringify(secret)
      .replaceAll('/', '\\/')
      .replaceAll(/[<\u0400-\u04ff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const json = `["${filler}",${escaped}]`;
    expect(secrets.areIn(json)).toBe(true);
    expect(JSON.parse(secrets.removeFromJson(json))).toEqual([filler, expect.stringMatching(/^(<upstream> ?)+$/)]);
  });

  it('are not in a result with other escapes, which stays as it is', () => {
    const secrets = secretsOf(`${local}/v2/Ab-dEfGhI.KlMnO_`, { 'x-key': 'k3yOfOurs' });
    const json = String.raw`["a\u003cb\u0000\n\\\"","\u00e9 \u005f"]`;
    expect(secrets.areIn(json)).toBe(false);
    expect(secrets.removeFromJson(json)).toBe(json);
  });
});

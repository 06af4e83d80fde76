import { describe, expect, it } from 'vitest';
import { credentialsOf } from '../../../gateway/upstreams/transport/credentials.ts';

const secretsOf = (url: string, headers: Record<string, string> = {}): readonly string[] =>
  credentialsOf(url, headers).secrets;

describe('the secrets of an upstream', () => {
  it.each([
    ['https://rpc.example/v2/AbCdEfGhIjKlMnOp', ['rpc.example', 'rpc.example', 'abcdefghijklmnop']],
    ['https://rpc.example/k3yk3yk3', ['rpc.example', 'rpc.example', 'k3yk3yk3']],
    ['https://rpc.example/?apikey=abcdefgh', ['rpc.example', 'rpc.example', 'abcdefgh']],
    ['https://operator:pass-word@10.0.0.5:8545', ['10.0.0.5:8545', '10.0.0.5', 'operator', 'pass-word']],
    ['http://localhost:8545', ['localhost:8545']],
  ])('of %s are %j, in lower case', (url, secrets) => {
    expect(secretsOf(url)).toEqual(secrets);
  });

  it('include the tokens in headers', () => {
    expect(secretsOf('http://localhost', { authorization: 'Bearer T0ken-Of-Ours' })).toContain('t0ken-of-ours');
  });

  it('do not include common words of paths', () => {
    expect(secretsOf('https://rpc.example/ethereum/mainnet/v1')).toEqual(['rpc.example', 'rpc.example']);
  });
});

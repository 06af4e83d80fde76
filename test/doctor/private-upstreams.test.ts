import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../gateway/doctor/diagnose.ts';
import { CommandFolder } from '../support/command-folder.ts';
import { makeAuthority, type Authority } from '../support/authority.ts';
import { startConnectProxy } from '../support/connect-proxy.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startTlsFront, type TlsFront } from '../support/tls-front.ts';

const password = 'S3cret-of-the-proxy';

let place: CommandFolder;
let node: FakeNode;
let authority: Authority;
let front: TlsFront;

beforeEach(async () => {
  place = new CommandFolder();
  node = await startFakeNode({ chainId: 5, responses: { eth_blockNumber: '0x10' } });
  authority = makeAuthority('Private');
  front = await startTlsFront(node.url, {
    ...authority.issue(),
    ...{ ca: authority.ca, requestCert: true, rejectUnauthorized: true },
  });
});
afterEach(async () => {
  await place.close();
  await node.close();
});

/** Writes files, and returns their paths. */
function write(files: object): Record<string, string> {
  const paths = Object.entries(files).map(([name, text]) => {
    const path = join(place.folder, name);
    writeFileSync(path, String(text));
    return [name, path];
  });
  return Object.fromEntries(paths) as Record<string, string>;
}

/** What `doctor` prints about an upstream with these options. */
async function examine(
  options: object,
  ...others: readonly object[]
): Promise<{ stdout: string; problems: readonly string[]; upstream: unknown }> {
  const upstreams = [{ name: 'ours', url: `https://localhost:${front.port}`, ...options }, ...others];
  place.withNetworks({ five: { name: 'Five', chainId: 5, methods: ['eth_chainId', 'eth_blockNumber'], upstreams } });
  const { stdout } = await place.run(['doctor', '--json']);
  const upstream = (JSON.parse(stdout) as Diagnosis).networks[0]?.upstreams[0];
  return { stdout, problems: upstream?.problems ?? [], upstream };
}

describe('gatehouse doctor, of a private upstream', () => {
  it('uses its authority, its client certificate and its proxy', async () => {
    const proxy = await startConnectProxy();
    const tls = write({ ca: authority.ca, ...authority.issue() });
    const proxyUrl = `http://me:${password}@127.0.0.1:${proxy.port}`;
    const { upstream } = await examine({ tls, proxyUrl });
    expect(upstream).toMatchObject({ tlsDays: 29, chainId: 5, problems: [] });
    // The certificate and the calls.
    expect(new Set(proxy.targets)).toEqual(new Set([`localhost:${front.port}`]));
    expect(new Set(front.clients)).toEqual(new Set(['localhost']));
  });

  it('sends only eth_chainId to an upstream that permits only transactions', async () => {
    const relay = await startFakeNode({ chainId: 5 });
    try {
      const { upstream } = await examine(
        { url: relay.url, methods: ['eth_sendRawTransaction'] },
        { name: 'other', url: relay.url },
      );
      expect(upstream).toMatchObject({
        problems: [],
        notes: ['only its chain id is tested: its methods exclude eth_getBlockByNumber'],
      });
    } finally {
      await relay.close();
    }
  });

  it('reports an untrusted certificate and a proxy that rejects, without the proxy’s credentials', async () => {
    const proxy = await startConnectProxy(407);
    const proxyUrl = `http://me:${password}@127.0.0.1:${proxy.port}`;
    const tls = write({ ca: makeAuthority('Other').ca });
    expect((await examine({ tls })).problems).toEqual([
      expect.stringMatching(/^its certificate is not trusted \(\w+\)$/),
    ]);
    const { stdout, problems } = await examine({ proxyUrl });
    expect(problems).toEqual(['no connection through the proxy (PROXY_407)']);
    expect(stdout).not.toContain(password);
    expect(stdout).not.toContain(String(proxy.port));
  });
});

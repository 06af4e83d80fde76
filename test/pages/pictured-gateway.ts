import { clock } from '../../gateway/clock/clock.ts';
import { digestOf, makeKey } from '../../gateway/auth/formats/key.ts';
import type { StoredKey } from '../../gateway/auth/stores/key-store.ts';
import { slow } from '../support/behaviours.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { scenarioPause } from '../support/scenario-pause.ts';
import { adminToken } from './keys-gateway.ts';

/** Upstreams of the networks in the pictures, by name: lag in blocks, latency in ms, and whether it fails at the end. */
const ours = { lag: 0, ms: 3, fails: false };
const provider = { lag: 0, ms: 28, fails: false };
const networks = {
  'ethereum-mainnet': {
    ...{ name: 'Ethereum Mainnet', chainId: 1, height: 24_180_317, blockS: 12 },
    upstreams: { 'our-node': ours, provider: { ...provider, ms: 41 } },
  },
  base: {
    ...{ name: 'Base', chainId: 8453, height: 41_204_882, blockS: 2 },
    upstreams: { 'our-node': { ...ours, fails: true }, provider, public: { lag: 31, ms: 74, fails: false } },
  },
  'op-mainnet': {
    ...{ name: 'OP Mainnet', chainId: 10, height: 146_800_410, blockS: 2 },
    upstreams: { 'our-node': ours, provider: { ...provider, ms: 35 } },
  },
};
export const networkNames = Object.values(networks).map(({ name }) => name);

/** Keys in the pictures: the age in days, the share of traffic, and the rest of the record. */
const keys: readonly (Partial<StoredKey> & { name: string; days: number; share: number; isRevoked?: true })[] = [
  { name: 'Wallet backend', days: 212, share: 0.4, permissions: { team: 'wallet', rate: '200' } },
  {
    name: 'Wallet app',
    days: 190,
    share: 0.2,
    permissions: { team: 'wallet', rate: '50', origins: 'app.example.org' },
  },
  { name: 'Indexer', days: 140, share: 0.25, permissions: { team: 'data', rate: '500', daily: '5000000' } },
  { name: 'Nightly reports', days: 96, share: 0, permissions: { team: 'data', networks: 'ethereum-mainnet' } },
  { name: 'Hackathon 2026', days: 60, share: 0, permissions: { expiresAt: '2026-10-01T00:00:00Z' } },
  { name: 'Old wallet backend', days: 400, share: 0, permissions: { team: 'wallet' }, isRevoked: true },
  { name: 'Grafana', days: 30, share: 0.05, permissions: { team: 'operations', methods: 'eth_blockNumber' } },
  { name: 'Customer portal, for payments in several currencies and languages', days: 3, share: 0.1 },
];

/** A gateway with networks, keys and traffic, as the pictures show it. */
export interface PicturedGateway {
  readonly gateway: TestGateway;
  readonly ops: string;
  /** Balance reads to every network, with the keys by their shares. */
  readonly traffic: (ms: number, pauseMs: () => number) => Promise<void>;
  /** Ends the upstreams that fail. */
  readonly fail: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function startPicturedGateway(): Promise<PicturedGateway> {
  const nodes: FakeNode[] = [];
  const failing: FakeNode[] = [];
  const files: Record<string, object> = {};
  for (const [slug, { name, chainId, height, blockS, upstreams }] of Object.entries(networks)) {
    const entries: object[] = [];
    for (const [upstream, { lag, ms, fails }] of Object.entries(upstreams)) {
      const node = await startFakeNode({ chainId, responses: chainAt(height, blockS, lag) });
      node.always((exchange) => slow(ms * (0.7 + 0.6 * Math.random()))(exchange));
      nodes.push(node);
      if (fails) failing.push(node);
      entries.push({ name: upstream, url: node.url });
    }
    files[slug] = { name, chainId, upstreams: entries };
  }
  const gateway = await startGateway(files, { OPS_PORT: '0', ADMIN_TOKEN: adminToken });
  const callers: { readonly key: string; readonly share: number }[] = [];
  for (const { name, days, share, permissions, isRevoked } of keys) {
    const key = makeKey();
    const createdAt = daysAgo(days);
    const record = { name, createdAt, ...(permissions !== undefined && { permissions }) };
    await gateway.gateway.keys.add(digestOf(key), { ...record, ...(isRevoked && { revokedAt: daysAgo(212) }) });
    callers.push({ key, share });
  }
  return {
    gateway,
    ops: `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}`,
    traffic: async (ms, pauseMs) => {
      const end = clock.now() + ms;
      for (let index = 0; clock.now() < end; index++) {
        const key = callerOf(callers, index);
        await Promise.all(
          Object.keys(networks).map((slug) => readBalance(`${gateway.address}/${slug}/v3/${key}`, index)),
        );
        await scenarioPause(pauseMs());
      }
    },
    fail: async () => {
      await Promise.all(failing.map((node) => node.refuse()));
    },
    stop: async () => {
      await gateway.stop();
      await Promise.all(nodes.map((node) => node.close()));
    },
  };
}

/** The key of a request: of twenty requests, each key has its share. */
function callerOf(callers: readonly { readonly key: string; readonly share: number }[], index: number): string {
  let rest = ((index * 7) % 20) / 20;
  for (const { key, share } of callers) {
    if (rest < share) return key;
    rest -= share;
  }
  return callers[0]?.key ?? '';
}

/** Each address differs, so that no response is from the cache. A key of other methods or origins is rejected. */
async function readBalance(url: string, index: number): Promise<void> {
  const address = `0x${index.toString(16).padStart(40, '0')}`;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params: [address, 'latest'] });
  const headers = { 'content-type': 'application/json', origin: 'https://app.example.org' };
  await (await fetch(url, { method: 'POST', body, headers })).text();
}

function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString();
}

/** A chain that grows by a block each `blockS` seconds, seen `lag` blocks late. */
function chainAt(height: number, blockS: number, lag: number): Record<string, unknown> {
  const start = Math.floor(Date.now() / 1000);
  const number = (): number => height + Math.floor((Date.now() / 1000 - start) / blockS) - lag;
  const hex = (value: number): string => `0x${value.toString(16)}`;
  return {
    eth_getBlockByNumber: () => ({
      number: hex(number()),
      gasLimit: '0x1c9c380',
      timestamp: hex(start + (number() - height) * blockS),
      transactions: [],
    }),
    eth_getBalance: '0xde0b6b3a7640000',
  };
}

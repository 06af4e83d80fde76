import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startIssuer, type Issuer } from '../auth/tokens/issuer.ts';
import type { Caller } from '../server/websocket/caller.ts';
import { ScriptedChain } from '../subscriptions/scripted-chain.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, patient } from '../support/gateway.ts';
import { startRedis, type RedisServer } from '../support/redis.ts';
import { CONNECTIONS, onAll, TwoWorkers, type Reply } from './two-workers.ts';

const SIZE = 25;

describe.each([
  ['a file', false],
  ['Redis', true],
])('two workers with %s', (_name, hasRedis) => {
  let folder: string;
  let node: FakeNode;
  let issuer: Issuer;
  let redis: RedisServer | undefined;
  let gateway: TwoWorkers;
  let env: Record<string, string>;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-jwks-'));
    redis = hasRedis ? await startRedis() : undefined;
    issuer = await startIssuer();
    const responses = { ...new ScriptedChain().responses(), eth_getStorageAt: `0x${'2a'.padStart(64, '0')}` };
    node = await startFakeNode({ chainId: 10, responses });
    publishKeys();
    const auth = { ...issuer.auth, keySet: join(folder, 'jwks.json') };
    env = redis === undefined ? {} : { ...patient, REDIS_URL: redis.url };
    gateway = await TwoWorkers.start({ main: network(10, [node.url]), other: network(10, [node.url]), auth }, env);
  }, 120_000);
  afterAll(async () => {
    await gateway.close();
    await Promise.all([node.close(), issuer.close(), redis?.stop()]);
    rmSync(folder, { recursive: true });
  });

  function publishKeys(): void {
    const path = join(folder, 'jwks.json');
    writeFileSync(`${path}~`, JSON.stringify(issuer.keySet));
    renameSync(`${path}~`, path);
  }

  const closeCodes = async (callers: readonly Caller[]): Promise<number[]> =>
    (await Promise.all(callers.map(({ closed }) => closed))).map(({ code }) => code);

  describe('a key', () => {
    it('that is revoked is rejected by both soon, and its sockets close', async () => {
      const { key, id } = await gateway.createKey();
      const send = (): Promise<Reply> => gateway.storage({ key });
      await gateway.eventuallyAll(send, 200);
      const callers = await gateway.socketAtEach(key);
      await gateway.admin(`/keys/${id}/revoke`, {});
      await gateway.eventuallyAll(send, 401);
      expect(await closeCodes(callers)).toEqual([1008, 1008]);
    });

    it('has changed permissions at both soon, and sockets that it no longer permits close', async () => {
      const { key, id } = await gateway.createKey();
      const send = (): Promise<Reply> => gateway.storage({ key });
      const update = (permissions: object): Promise<unknown> => gateway.admin(`/keys/${id}`, { permissions }, 'PATCH');
      await gateway.eventuallyAll(send, 200);
      await update({ methods: ['eth_chainId'] });
      await gateway.eventuallyAll(send, 403);
      await update({ methods: null });
      await gateway.eventuallyAll(send, 200);
      const callers = await gateway.socketAtEach(key);
      await update({ networks: ['other'] });
      await gateway.eventuallyAll(send, 403);
      expect(await closeCodes(callers)).toEqual([1008, 1008]);
    });

    it('that is rotated is served by both until its grace ends, and so is the new one, then only that', async () => {
      const { key, id } = await gateway.createKey();
      const send = (): Promise<Reply> => gateway.storage({ key });
      await gateway.eventuallyAll(send, 200);
      const callers = await gateway.socketAtEach(key);
      const rotated = (await gateway.admin(`/keys/${id}/rotate`, { grace: '1m' })) as { key: string };
      expect((await onAll(send)).map(({ status }) => status)).toEqual(Array.from({ length: CONNECTIONS }, () => 200));
      await gateway.eventuallyAll(() => gateway.storage({ key: rotated.key }), 200);
      // Instead of a minute.
      await gateway.admin(
        `/keys/${id}`,
        { permissions: { expiresAt: new Date(Date.now() + 1_000).toISOString() } },
        'PATCH',
      );
      await gateway.eventuallyAll(send, 401);
      expect(await closeCodes(callers)).toEqual([1008, 1008]);
      await gateway.eventuallyAll(() => gateway.storage({ key: rotated.key }), 200);
    });

    it('has its daily quota, to the last call', async () => {
      const { key } = await gateway.createKey({ daily: SIZE });
      expect(await gateway.servedOf(() => gateway.storage({ key }), SIZE)).toBe(SIZE);
    });
  });

  describe('a token', () => {
    let subjects = 0;
    const newSubject = (): string => `user-${hasRedis ? 'r' : 'f'}${++subjects}`;
    const sign = (sub: string, claims: object = {}): Promise<string> =>
      issuer.sign({ sub, gatehouse: { methods: ['eth'] }, ...claims }, 600);
    const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
    const sender = (token: string) => (): Promise<Reply> => gateway.storage({ key: '', headers: bearer(token) });

    async function revoke(...args: string[]): Promise<void> {
      expect(await gateway.place.run(['keys', 'revoke-tokens', ...args], env)).toMatchObject({ code: 0 });
    }

    it('whose subject is revoked is rejected by both soon, and its sockets close', async () => {
      const sub = newSubject();
      const send = sender(await sign(sub));
      await gateway.eventuallyAll(send, 200);
      const callers = await gateway.socketAtEach('', 'main', bearer(await sign(sub)));
      await revoke('--subject', sub);
      await gateway.eventuallyAll(send, 401);
      expect(await closeCodes(callers)).toEqual([1008, 1008]);
      await revoke('--subject', sub, '--undo');
      await gateway.eventuallyAll(send, 200);
    });

    it('whose id is revoked is rejected by both soon, and no other one of its subject', async () => {
      const sub = newSubject();
      const send = sender(await sign(sub, { jti: `${sub} one` }));
      const sendOther = sender(await sign(sub, { jti: `${sub} other` }));
      await gateway.eventuallyAll(send, 200);
      await revoke('--jti', `${sub} one`);
      await gateway.eventuallyAll(send, 401);
      await gateway.eventuallyAll(sendOther, 200);
    });

    it('has the quota of its subject, to the last call of all its tokens', async () => {
      const sub = newSubject();
      const claims = (jti: string): object => ({ jti, gatehouse: { daily: SIZE } });
      const senders = [sender(await sign(sub, claims('one'))), sender(await sign(sub, claims('other')))];
      let turn = 0;
      expect(await gateway.servedOf(() => (senders[turn++ % 2] as () => Promise<Reply>)(), SIZE)).toBe(SIZE);
    });

    it('whose key is removed from the set is rejected by both, and its sockets close', async () => {
      const token = await sign(newSubject());
      await gateway.eventuallyAll(sender(token), 200);
      const callers = await gateway.socketAtEach('', 'main', bearer(token));
      await issuer.rotate();
      issuer.keySet.keys.shift();
      publishKeys();
      await gateway.eventuallyAll(sender(token), 401);
      expect(await closeCodes(callers)).toEqual([1008, 1008]);
    });
  });
});

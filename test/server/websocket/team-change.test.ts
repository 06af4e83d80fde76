import { expect, it, onTestFinished } from 'vitest';
import { digestOf, keyIdOf, makeKey } from '../../../gateway/auth/formats/key.ts';
import { compileAccess, type KeyAccess } from '../../../gateway/auth/key-access.ts';
import { OpenCounts } from '../../../gateway/limits/open-counts.ts';
import { KeySessions } from '../../../gateway/server/websocket/key-sessions.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode } from '../../support/fake-node.ts';
import { network, startGateway } from '../../support/gateway.ts';
import { openCaller, socketUrl, type Caller } from './caller.ts';

const createdAt = '2026-01-02T03:04:05.678Z';

it('the open sockets of a key count for the team that it has now', async () => {
  const node = await startFakeNode({ chainId: 5 });
  const gateway = await startGateway({ main: network(5, [node.url]) });
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  const { keys } = gateway.gateway;
  const addKeyOf = async (team: string): Promise<string> => {
    const key = makeKey();
    await keys.add(digestOf(key), { name: team, createdAt, permissions: { team, sockets: '1' } });
    return key;
  };
  const tryOpen = (key: string): Promise<Caller | undefined> =>
    openCaller(socketUrl(gateway, 'main', key)).catch(() => undefined);
  const [moved, before, after] = [await addKeyOf('before'), await addKeyOf('before'), await addKeyOf('after')];
  const caller = await tryOpen(moved);
  expect(caller).toBeDefined();
  expect(await tryOpen(before)).toBeUndefined();

  await keys.update(keyIdOf(digestOf(moved)), { team: 'after' });
  await eventually(async () => (await tryOpen(before)) !== undefined);
  expect(await tryOpen(after)).toBeUndefined();

  caller?.socket.close();
  await eventually(async () => (await tryOpen(after)) !== undefined);
});

it('so do its subscriptions', async () => {
  const accessOf = (team: string): KeyAccess =>
    compileAccess({ id: 'key', name: 'key', createdAt, permissions: { team } });
  const counts = new OpenCounts();
  const [one, other, after] = ['before', 'before', 'after'].map(
    (team) => new KeySessions('digest', accessOf(team), counts),
  ) as [KeySessions, KeySessions, KeySessions];
  const limits = { own: 5, all: Infinity };
  expect(await one.takeSubscriptions(3, limits)).toBeUndefined();
  expect(await other.takeSubscriptions(3, limits)).toBe('own');
  expect(await other.takeSubscriptions(2, limits)).toBeUndefined();
  one.found = accessOf('after');
  expect(await after.takeSubscriptions(3, limits)).toBe('own');
  expect(await other.takeSubscriptions(3, limits)).toBeUndefined();
  one.returnSubscriptions(3);
  expect(await after.takeSubscriptions(5, limits)).toBeUndefined();
});

it('one that is counted while its key changes counts for the team that the key has then', async () => {
  const accessOf = (team: string): KeyAccess =>
    compileAccess({ id: 'key', name: 'key', createdAt, permissions: { team } });
  const counts = new OpenCounts();
  const sessions = new KeySessions('digest', accessOf('before'), counts);
  const taking = sessions.takeSubscriptions(3, { own: 3, all: Infinity });
  sessions.found = accessOf('after');
  await taking;
  expect(await counts.take(accessOf('before'), 'subscriptions', 3, { own: 3, all: Infinity })).toBeUndefined();
  expect(await counts.take(accessOf('after'), 'subscriptions', 1, { own: 3, all: Infinity })).toBe('own');
});

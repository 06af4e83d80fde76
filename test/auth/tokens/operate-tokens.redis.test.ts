import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keyIdOf } from '../../../gateway/auth/formats/key.ts';
import { subjectDigest } from '../../../gateway/auth/tokens/revocations.ts';
import { CommandFolder } from '../../support/command-folder.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, patient, startGateway, type TestGateway } from '../../support/gateway.ts';
import { startRedis, type RedisServer } from '../../support/redis.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import { issuerName, startIssuer, type Issuer } from './issuer.ts';

const claims = { sub: 'user-17', gatehouse: { methods: ['eth'] } };

let place: CommandFolder;
let issuer: Issuer;
let node: FakeNode;

beforeAll(async () => {
  place = new CommandFolder();
  [issuer, node] = await Promise.all([startIssuer(), startFakeNode({ chainId: 5 })]);
});
afterAll(async () => {
  await Promise.all([place.close(), issuer.close(), node.close()]);
});

async function statusOf({ address }: TestGateway, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}';
  return (await fetch(`${address}/main/v3`, { method: 'POST', body, headers })).status;
}

it('the command line revokes tokens, undoes it, and reads the usage of a subject, without the key set', async () => {
  const env = { DATA_DIR: join(place.folder, 'data'), METRICS_PER_KEY: 'on' };
  const gateway = await startGateway({ main: network(5, [node.url]), auth: issuer.auth }, env);
  place.withNetworks({ auth: { ...issuer.auth, keySet: 'not-here.json' } });
  try {
    const token = await issuer.sign({ ...claims, jti: 'one' }, 60);
    const keys = (...args: string[]): ReturnType<CommandFolder['run']> =>
      place.run(['keys', ...args], { DATA_DIR: env.DATA_DIR });
    for (const [option, value] of [
      ['--subject', 'user-17'],
      ['--jti', 'one'],
    ] as const) {
      expect(await statusOf(gateway, token)).toBe(200);
      const revoked = await keys('revoke-tokens', option, value);
      expect(revoked).toMatchObject({ code: 0, stdout: expect.stringContaining(issuerName) as string });
      await eventually(async () => (await statusOf(gateway, token)) === 401);
      expect(await keys('revoke-tokens', option, value, '--undo')).toMatchObject({ code: 0 });
      await eventually(async () => (await statusOf(gateway, token)) === 200);
    }
    expect(await keys('revoke-tokens', '--jti', 'one', '--undo')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no such revocation') as string,
    });
    await gateway.call('main', 'eth_chainId');
    const usage = async (): Promise<unknown> =>
      JSON.parse((await keys('usage', '--subject', 'user-17', '--json')).stdout);
    await eventually(async () => ((await usage()) as unknown[]).length === 1);
    expect(await usage()).toMatchObject([{ network: 'main', method: 'eth_chainId' }]);
    const metrics = async (): Promise<string> => (await fetch(`${gateway.address}/metrics`)).text();
    await eventually(async () => (await metrics()).includes('gatehouse_key_calls_total{key='));
    expect(await metrics()).not.toContain(keyIdOf(subjectDigest(issuerName, 'user-17')));
  } finally {
    await gateway.stop();
  }
});

it('a token that was not revoked stays valid while lookups in Redis fail', async () => {
  const redis: RedisServer = await startRedis();
  // A lookup of each subject and second replaces the subscription.
  await redis.cli('ACL', 'SETUSER', 'default', '-subscribe');
  const gateway = await startGateway(
    { main: network(5, [node.url]), auth: issuer.auth },
    { ...patient, REDIS_URL: redis.url },
  );
  try {
    const token = await issuer.sign(claims, 60);
    expect(await statusOf(gateway, token)).toBe(200);
    await scenarioPause(1_000);
    redis.pause();
    const statuses = await Promise.all(Array.from({ length: 3 }, () => statusOf(gateway, token)));
    expect(statuses).toEqual([200, 200, 200]);
    expect(await statusOf(gateway, await issuer.sign({ ...claims, sub: 'unseen' }, 60))).toBe(503);
  } finally {
    redis.resume();
    await gateway.stop();
    await redis.stop();
  }
});

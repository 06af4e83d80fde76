import { describe, expect, it, onTestFinished } from 'vitest';
import { permissionFields, permissionNames } from '../../../gateway/auth/permissions/permission-fields.ts';
import { limited } from '../../limits/limited.ts';
import { startRedis } from '../../support/redis.ts';
import { fieldSamples, twoCalls } from './field-samples.ts';

const table = 'gateway/auth/permissions/permission-fields.ts';
/** Place of the effect of each kind, for the message of a field without one. */
const steps = {
  entry: `\`check\` in its row of ${table}`,
  method: `\`check\` in its row of ${table}`,
  params: `\`check\` in its row of ${table}`,
  charged: `\`limit\` in its row of ${table}, gateway/limits/limit-state.ts`,
  open: `\`limit\` in its row of ${table}, and where the limit is counted (gateway/server/websocket/, gateway/subscriptions/)`,
  bound: `\`bound\` in its row of ${table}, and its check in gateway/spec/bounds.ts`,
  capability: `\`grant\` in its row of ${table}`,
  token: `\`rules\` in its row of ${table}`,
  account: `\`account\` in its row of ${table}`,
  plan: '`withPlan` of gateway/auth/permissions/plans.ts',
} as const;

/** Charged limits are enforced in memory, and by a script in Redis. */
const cases = permissionNames.flatMap((name) => {
  const isCharged = ['charged', 'account'].includes(permissionFields[name].kind);
  return isCharged ? [[name, 'memory'] as const, [name, 'Redis'] as const] : [[name, 'memory'] as const];
});

describe('each permission and limit', () => {
  it.each(cases)('%s has its effect, counted in %s', async (name, place) => {
    expect(fieldSamples, `add a row ${name} to test/auth/permissions/field-samples.ts`).toHaveProperty(name);
    const { base = {}, text, observe = twoCalls, ...expected } = fieldSamples[name].effect;
    const message = `${name} has no effect (${place}): see ${steps[permissionFields[name].kind]}`;
    const outcome = async (permissions: Record<string, string | undefined>): Promise<unknown> => {
      const one = await limited(place === 'Redis' ? await ownRedis() : {});
      if (Object.keys(permissions).length > 0) await one.setPermissions(permissions);
      return observe(one, permissions);
    };
    expect(expected.with, 'a sample must differ with and without the field').not.toEqual(expected.without);
    expect(await outcome(base)).toEqual(expected.without);
    expect(await outcome({ ...base, [name]: text }), message).toEqual(expected.with);
  });
});

async function ownRedis(): Promise<Record<string, string>> {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  return { REDIS_URL: redis.url };
}

import { expect, it } from 'vitest';
import { misspeltSettings } from '../../gateway/config/misspelt-settings.ts';
import { settingRows } from '../../gateway/config/settings.ts';

it.each([
  ['REDIS_URI', 'REDIS_URL'],
  ['PROT', 'PORT'],
  ['LOG_LEVL', 'LOG_LEVEL'],
  ['NODE_EVN', 'NODE_ENV'],
])('%s is reported with the setting it resembles', (given, meant) => {
  expect(misspeltSettings({ [given]: 'x' })).toEqual([`${given} is not a setting; did you mean ${meant}?`]);
});

it('settings, common variables and those of services are not reported', () => {
  const given = [
    ...settingRows.map(({ name }) => name),
    ...['HOME', 'HOSTNAME', 'PATH', 'OPS_SERVICE_PORT', 'OP_PORT', 'REDIS_SERVICE_HOST', 'ETH_RPC_URL', 'USER'],
  ];
  const env = Object.fromEntries(given.map((name) => [name, 'x']));
  expect(misspeltSettings(env)).toEqual([]);
});

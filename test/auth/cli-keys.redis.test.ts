import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { commandName } from '../../gateway/cli/command-name.ts';
import { digestOf, isWellFormedKey, keyIdOf } from '../../gateway/auth/formats/key.ts';
import type { KeyRecord } from '../../gateway/auth/stores/key-store.ts';
import { openKeys } from '../support/open-keys.ts';
import { freePort, startRedis, type RedisServer } from '../support/redis.ts';
import { runKeys, type KeysRun } from './run-keys.ts';

const importedKey = '0123456789abcdefABCDEF9876543210';
let dataDir: string;
let redisUrl: string | undefined;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  redisUrl = undefined;
  onTestFinished(() => {
    rmSync(dataDir, { recursive: true });
  });
});

const keys = (args: string[], input?: string): Promise<KeysRun> =>
  runKeys({ REDIS_URL: redisUrl, DATA_DIR: dataDir }, args, input);
/** Run of `keys` where there is a network. */
function withUrl(args: string[]): Promise<KeysRun> {
  const networks = join(dataDir, 'networks');
  mkdirSync(networks, { recursive: true });
  const file = {
    name: 'One',
    chainId: 1,
    upstreams: [{ name: 'a', url: 'https://node.example' }],
    baseUrls: ['http://gateway.example'],
  };
  writeFileSync(join(networks, 'one.yaml'), JSON.stringify(file));
  return runKeys({ DATA_DIR: dataDir, NETWORKS_DIR: networks }, args);
}

async function create(name: string): Promise<{ id: string; key: string }> {
  return JSON.parse((await keys(['create', '--name', name, '--json'])).out) as { id: string; key: string };
}

async function listed(): Promise<KeyRecord[]> {
  return JSON.parse((await keys(['list', '--json'])).out) as KeyRecord[];
}

async function startOwnRedis(): Promise<RedisServer> {
  const redis = await startRedis();
  onTestFinished(redis.stop);
  redisUrl = redis.url;
  return redis;
}

it('keys list shows no control character of a name that the store has', async () => {
  const stored = openKeys({ DATA_DIR: dataDir });
  await stored.add(digestOf('eve'), { name: 'eve\x1b]0;owned\x07\n\x9b31m\u202e', createdAt: '2026' });
  await stored.close();
  const { out } = await keys(['list']);
  expect(out).toContain('eve\\u001b]0;owned\\u0007\\u000a\\u009b31m\\u202e');
  expect(out).not.toMatch(/[^\P{Cc}\n]/u);
  expect(out.trimEnd().split('\n')).toHaveLength(2);
});

it.each([
  [['--origins', 'https://*.example.org,http://localhost:3000'], `-H 'origin: https://app.example.org' `],
  [['--origins', 'localhost:3000'], `-H 'origin: https://localhost:3000' `],
  [['--user-agents', 'my app'], `-A 'my app' `],
  [['--methods', 'eth_chainId'], ''],
])('keys create prints a curl line that the permissions allow: %j', async (args, options) => {
  const { out } = await withUrl(['create', '--name', 'alice', ...args]);
  expect(out).toContain(`Try it:\n\ncurl -sSw '\\n' ${options}http://gateway.example/v3/gh_`);
});

it('keys create prints the URL and no curl line if the key may not call eth_chainId', async () => {
  const { out } = await withUrl(['create', '--name', 'alice', '--methods', 'eth_call']);
  expect(out).toContain('URL: http://gateway.example/v3/gh_');
  expect(out).not.toContain('curl');
});

it('keys create and rotate print a URL and a curl line that the plan of the key permits', async () => {
  const networks = join(dataDir, 'networks');
  mkdirSync(networks, { recursive: true });
  const two = { name: 'Two', chainId: 2, upstreams: [{ name: 'a', url: 'https://node.example' }] };
  writeFileSync(join(networks, 'two.yaml'), JSON.stringify({ ...two, baseUrls: ['http://two.example'] }));
  const plans = { partner: { networks: ['two'], origins: ['app.example.org'] } };
  writeFileSync(join(networks, 'auth.yaml'), JSON.stringify({ plans }));
  const line = `-H 'origin: https://app.example.org' http://two.example/v3/gh_`;
  const created = await withUrl(['create', '--name', 'alice', '--plan', 'partner']);
  expect(created.out).toContain(line);
  const [record] = JSON.parse((await withUrl(['list', '--json'])).out) as KeyRecord[];
  expect((await withUrl(['rotate', record?.id ?? ''])).out).toContain(line);
});

it('keys rotate prints the URL of the new key and a curl line, with a place for the secret that it shares', async () => {
  const { id } = await create('alice');
  await keys(['update', id, '--secret', '--origins', 'app.example.org']);
  const { out } = await withUrl(['rotate', id]);
  const [, key = ''] = /\n(gh_\w{32})\n/.exec(out) ?? [];
  expect(out).toContain(`URL: http://gateway.example/v3/${key}\n`);
  expect(out).toContain(
    `curl -sSw '\\n' -u ':<secret>' -H 'origin: https://app.example.org' http://gateway.example/v3/${key} `,
  );
});

it('keys create and update warn of an expiry in the past', async () => {
  const { err } = await keys(['create', '--name', 'alice', '--expires', '2020-01-01']);
  expect(err).toContain('warning: the key has expired: expiresAt is 2020-01-01\n');
  const { id } = await create('bob');
  expect((await keys(['update', id, '--expires', '2020-01-01'])).err).toContain('the key has expired');
  expect((await keys(['update', id, '--expires', '90d'])).err).not.toContain('expired');
});

describe.each(['file', 'redis'])('gatehouse keys, stored in %s', (kind) => {
  beforeEach(async () => {
    if (kind === 'redis') await startOwnRedis();
  });

  it('create shows a new key once, and stores only its digest', async () => {
    const { out, exitCode } = await keys(['create', '--name', 'alice']);
    const [, id = '', key = ''] =
      /^Key ([0-9a-f]{12}) for alice in \S+(?: \(REDIS_URL\))?, shown only once:\n\n(gh_\w{32})\n$/.exec(out) ?? [];
    expect(exitCode).toBe(0);
    expect(isWellFormedKey(key)).toBe(true);
    expect(id).toBe(keyIdOf(digestOf(key)));
    expect(JSON.stringify(await listed())).not.toContain(key);
    if (kind === 'file') expect(readFileSync(join(dataDir, 'gatehouse.db'), 'utf8')).not.toContain(key);
  });

  it('create --json prints id and key on one line', async () => {
    const { out } = await keys(['create', '--name', 'alice', '--json']);
    expect(out).toMatch(/^\{"id":"[0-9a-f]{12}","key":"gh_\w{32}"\}\n$/);
  });

  it('create --key-stdin adds a key of another service, once, and does not show it', async () => {
    const run = await keys(['create', '--name', 'old', '--key-stdin', '--rate', '9'], `${importedKey}\n`);
    const place = kind === 'file' ? join(dataDir, 'gatehouse.db') : 'Redis (REDIS_URL)';
    expect(run).toEqual({
      ...{ err: '', exitCode: 0 },
      out: `Key ${keyIdOf(digestOf(importedKey))} for old added in ${place}.\n`,
    });
    const again = await keys(['create', '--name', 'new', '--key-stdin'], importedKey);
    expect(again.exitCode).toBe(1);
    expect(again.err).toMatch(/^This key already exists: .*\n$/);
    expect(await listed()).toMatchObject([{ name: 'old' }]);
  });

  it('create --key-stdin --secret keeps the secret of the other service, and does not show it', async () => {
    const secret = 'c'.repeat(32);
    const input = `${importedKey} ${secret}\n`;
    const without = await keys(['create', '--name', 'old', '--key-stdin'], input);
    expect(without).toEqual({ out: '', err: '--key-stdin: a secret requires --secret\n', exitCode: 1 });
    const short = 'c'.repeat(15);
    const rejected = await keys(['create', '--name', 'old', '--key-stdin', '--secret'], `${importedKey} ${short}\n`);
    expect(rejected).toEqual({
      out: '',
      err: '--key-stdin: expected a secret of at least 16 characters\n',
      exitCode: 1,
    });
    const { out } = await keys(['create', '--name', 'old', '--key-stdin', '--secret', '--rate', '9'], input);
    expect(out).not.toContain(secret);
    expect(await listed()).toMatchObject([{ permissions: { secrets: keyIdOf(digestOf(secret)) } }]);
  });

  it('list shows a table, an array with --json, and with --csv only the head if no key has the team', async () => {
    expect((await keys(['list'])).out).toBe(
      `There are no keys. Create one: ${commandName} keys create --name <name>\n`,
    );
    expect((await keys(['list', '--json'])).out).toBe('[]\n');
    const empty = { out: 'id,name,team,plan,created,state\n', err: '', exitCode: 0 };
    expect(await keys(['list', '--team', 'acme', '--csv'])).toEqual(empty);
    const alice = await create('alice');
    const bob = await create('bob with a long name');
    await keys(['update', bob.id, '--team', 'acme']);
    await keys(['revoke', bob.id]);
    const lines = (await keys(['list'])).out.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\dZ`;
    expect(lines[0]).toMatch(/^ID {12}NAME {18}TEAM {2}PLAN {2}CREATED {12}STATE$/);
    expect(lines[1]).toMatch(new RegExp(`^${alice.id}  alice {17}-     -     ${time}  active$`));
    expect(lines[2]).toMatch(new RegExp(`^${bob.id}  bob with a long name  acme  -     ${time}  revoked ${time}$`));
    expect((await listed()).map(({ id }) => id)).toEqual([alice.id, bob.id]);
  });

  it('show prints one key', async () => {
    const { id } = await create('alice');
    expect((await keys(['show', id])).out).toContain(`${id}  alice`);
    const { out } = await keys(['show', id, '--json']);
    expect(JSON.parse(out)).toMatchObject({ id, name: 'alice' });
    expect(out.trimEnd()).not.toContain('\n');
  });

  it('revoke ends a key, and can be repeated', async () => {
    const { id } = await create('alice');
    for (let time = 0; time < 2; time += 1) {
      expect(await keys(['revoke', id])).toEqual({ out: `Key ${id} (alice) is revoked.\n`, err: '', exitCode: 0 });
    }
    expect(await listed()).toMatchObject([{ id, revokedAt: expect.any(String) as string }]);
    const { out } = await keys(['revoke', id, '--json']);
    expect(JSON.parse(out)).toMatchObject({ id, name: 'alice', revokedAt: expect.any(String) as string });
  });

  it.each(['create', 'list', 'show', 'update', 'rotate', 'revoke', 'usage', 'import'])(
    '%s has --json, and help with examples',
    async (verb) => {
      const { out, exitCode } = await keys([verb, '--help']);
      expect(exitCode).toBe(0);
      expect(out).toMatch(/\n {2}--json +print /);
      expect(out).toMatch(new RegExp(`\nExamples:\n  gatehouse keys ${verb}`));
    },
  );

  it.each(['show', 'revoke'])('%s reports that the key does not exist', async (verb) => {
    const { out, err, exitCode } = await keys([verb, 'abcdefabcdef']);
    expect({ out, exitCode }).toEqual({ out: '', exitCode: 1 });
    expect(err).toBe('There is no key with the id abcdefabcdef: see gatehouse keys list\n');
  });
});

describe('gatehouse keys', () => {
  it.each(['', '   ', 'a'.repeat(65), 'line\nbreak', 'bell\u0007', 'right\u202Eleft'])(
    'rejects the name %j',
    async (name) => {
      const { err, exitCode } = await keys(['create', '--name', name]);
      expect({ err, exitCode }).toEqual({ err: '--name: expected 1 to 64 printable characters\n', exitCode: 1 });
      expect(await listed()).toEqual([]);
    },
  );

  it('accepts names in any script, up to 64 characters', async () => {
    for (const name of ['Zoë', '鍵'.repeat(64), '🗝️ of alice'.replace('\uFE0F', '')]) await create(name);
    expect((await listed()).map(({ name }) => name)).toContain('鍵'.repeat(64));
  });

  it.each(['', 'abc', importedKey.slice(1), `${importedKey}0`, 'x'.repeat(32), `${importedKey} a b`])(
    'rejects %j from standard input, without quoting it',
    async (text) => {
      const { err, exitCode } = await keys(['create', '--name', 'old', '--key-stdin'], text);
      expect(exitCode).toBe(1);
      expect(err).toBe('--key-stdin: expected a key of 32 hexadecimal digits on standard input\n');
    },
  );

  it('reports missing and mistyped arguments', async () => {
    expect((await keys(['create'])).err).toContain("required option '--name <name>' not specified");
    expect((await keys(['create', '--nam', 'alice'])).err).toContain('Did you mean --name?');
    expect((await keys(['lst'])).err).toContain('Did you mean list?');
    expect((await keys(['revoke'])).exitCode).toBe(1);
    expect(await keys(['--help'])).toMatchObject({ exitCode: 0, out: expect.stringContaining('revoke') as string });
  });

  it('reports in one line that Redis is unavailable', async () => {
    redisUrl = `redis://:secret@127.0.0.1:${await freePort()}`;
    const { out, err, exitCode } = await keys(['list']);
    expect({ out, exitCode }).toEqual({ out: '', exitCode: 78 });
    expect(err).toBe('Redis is unreachable (ECONNREFUSED): check REDIS_URL\n');
  });

  it('reports in one line that REDIS_URL is malformed, without quoting it', async () => {
    redisUrl = 'http://:secret@localhost';
    const { err, exitCode } = await keys(['list']);
    expect(exitCode).toBe(78);
    expect(err).toMatch(/^REDIS_URL: expected redis:\/\/(?!.*secret)[^\n]*\n$/);
  });

  it('reports in one line that a file of keys is invalid or inaccessible', async () => {
    writeFileSync(join(dataDir, 'keys.json'), '{');
    const invalid = await keys(['list']);
    expect(invalid.exitCode).toBe(78);
    expect(invalid.err).toMatch(/^.*keys\.json is not valid JSON[^\n]*\n$/);
    rmSync(join(dataDir, 'keys.json'));
    writeFileSync(join(dataDir, 'a-file'), '');
    dataDir = join(dataDir, 'a-file');
    onTestFinished(() => {
      dataDir = join(dataDir, '..');
    });
    const blocked = await keys(['create', '--name', 'alice']);
    expect(blocked.exitCode).toBe(78);
    expect(blocked.err).toMatch(/^[^\n]*gatehouse\.db cannot be opened \((EEXIST|ENOTDIR)\)\n$/);
  });

  it('revoke of several ids revokes what it can; it ends with 1 for missing keys, and with 78 if the store fails', async () => {
    const redis = await startOwnRedis();
    const [alice, bob, carol] = [await create('alice'), await create('bob'), await create('carol')];
    const missing = await keys(['revoke', 'abcdefabcdef', alice.id, 'fedcbafedcba']);
    expect(missing).toEqual({
      ...{ out: `Key ${alice.id} (alice) is revoked.\n`, exitCode: 1 },
      err:
        'There is no key with the id abcdefabcdef: see gatehouse keys list\n' +
        'There is no key with the id fedcbafedcba: see gatehouse keys list\n',
    });
    // Two digests that begin with one id.
    await redis.cli('HSET', 'gatehouse:key', `${bob.id}${'0'.repeat(52)}`, '{"name":"double"}');
    expect(await keys(['revoke', bob.id, 'abcdefabcdef', carol.id])).toEqual({
      ...{ out: `Key ${carol.id} (carol) is revoked.\n`, exitCode: 78 },
      err:
        `2 keys have the id ${bob.id}: use redis-cli\n` +
        'There is no key with the id abcdefabcdef: see gatehouse keys list\n',
    });
    await redis.kill();
    expect(await keys(['revoke', alice.id])).toEqual({
      ...{ out: '', exitCode: 78 },
      err: 'Redis is unreachable (ECONNREFUSED): check REDIS_URL\n',
    });
  });

  it('leaves no socket and no timer open, so that the process ends', async () => {
    await startOwnRedis();
    const open = (): number => process.getActiveResourcesInfo().filter((kind) => /^(TCP|Timeout)/.test(kind)).length;
    const before = open();
    await keys(['list']);
    expect(open()).toBeLessThanOrEqual(before);
  });
});

describe('gatehouse keys import', () => {
  it('copies the keys of the file to Redis with revocations, without development keys, and can be repeated', async () => {
    const [alice, bob] = [await create('alice'), await create('bob')];
    await keys(['revoke', bob.id]);
    // Another key is in the key file of a former version.
    const development = { name: 'development', createdAt: '2026', development: true };
    writeFileSync(join(dataDir, 'keys.json'), JSON.stringify({ keys: { [digestOf('dev')]: development } }));

    await startOwnRedis();
    const first = await keys(['import']);
    expect(first).toMatchObject({ exitCode: 0, err: '' });
    expect(first.out).toBe('Copied to Redis: 2; already in Redis: 0; development keys skipped: 1.\n');
    expect(await listed()).toEqual([
      { id: alice.id, name: 'alice', createdAt: expect.any(String) as string },
      {
        id: bob.id,
        name: 'bob',
        createdAt: expect.any(String) as string,
        revokedAt: expect.any(String) as string,
      },
    ]);

    await keys(['revoke', alice.id]);
    const second = await keys(['import']);
    expect(second.out).toBe('Copied to Redis: 0; already in Redis: 2; development keys skipped: 1.\n');
    expect((await listed()).every(({ revokedAt }) => revokedAt !== undefined)).toBe(true);
  });

  it('reports zero if there are no keys to copy', async () => {
    await startOwnRedis();
    expect((await keys(['import'])).out).toMatch(/^Copied to Redis: 0; /);
    expect((await keys(['import', '--json'])).out).toBe('{"added":0,"there":0,"leftOut":0}\n');
  });

  it('requires REDIS_URL', async () => {
    const { err, exitCode } = await keys(['import']);
    expect({ err, exitCode }).toEqual({
      err: 'keys import copies keys to Redis: set REDIS_URL\n',
      exitCode: 78,
    });
  });
});

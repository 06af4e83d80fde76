import { describe, expect, it } from 'vitest';
import { isDevelopment, readSettings, settingRows, SettingsError } from '../../gateway/config/settings.ts';

const namesOf = (type: string): string[] => settingRows.filter((row) => row.type === type).map(({ name }) => name);
const levels = 'fatal, error, warn, info, debug, trace, silent';
/** The settings `OTEL_…` are read only if spans are exported. */
const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector' };
const wholeNumber = 'expected a whole number from 1 to 1000000000';

describe('a setting that is not set', () => {
  /** Defaults on which other files depend; docs/reference/settings.md has all of them. */
  const promised = {
    HOST: '127.0.0.1',
    PORT: 8545,
    OPS_PORT: undefined,
    REDIS_URL: undefined,
    NETWORKS_DIR: 'networks',
    DATA_DIR: '.gatehouse',
    LOG_LEVEL: 'info',
    ACCESS_LOG: 'off',
    KEY_STALE_MAX_S: 3600,
    BODY_MAX_BYTES: 5_000_000,
    BATCH_MAX_ITEMS: 1000,
  };

  it('has its default', () => {
    expect(readSettings({})).toMatchObject(promised);
    expect(readSettings({})).toEqual(Object.fromEntries(settingRows.map((row) => [row.name, row.default])));
  });

  it('has its default if it is empty, as in compose files', () => {
    expect(readSettings(Object.fromEntries(settingRows.map(({ name }) => [name, ''])))).toEqual(readSettings({}));
  });

  it('is read only under its own name', () => {
    const names = Object.keys(readSettings({ SOMETHING_ELSE: 'x', port: '1' }));
    expect(names).toEqual(settingRows.map(({ name }) => name));
  });
});

describe('a setting that is set', () => {
  it.each(namesOf('string'))('%s is used unchanged', (name) => {
    expect(readSettings({ ...collector, [name]: ' some text ' })).toMatchObject({ [name]: ' some text ' });
  });

  it('CACHE_REDIS_URL requires the cache in memory', () => {
    const given = { CACHE_REDIS_URL: 'redis://cache', CACHE_MAX_BYTES: '0' };
    expect(() => readSettings(given)).toThrow('CACHE_REDIS_URL: requires the cache in memory');
  });

  it.each(namesOf('port'))('%s is a port', (name) => {
    for (const [given, port] of Object.entries({ '0': 0, '1': 1, '8545': 8545, '65535': 65_535 })) {
      expect(readSettings({ [name]: given })).toMatchObject({ [name]: port });
    }
    for (const given of ['65536', '-1', '8545.0', '1e3', '0x1', ' 8545', '8545 ', 'http', '٣', 'Infinity', 'NaN']) {
      expect(() => readSettings({ [name]: given })).toThrow(`${name}: expected a port from 0 to 65535`);
    }
  });

  it.each(namesOf('count'))('%s is a whole number from 1, small enough for a timer', (name) => {
    for (const [given, count] of Object.entries({ '1': 1, '007': 7, '1000000000': 1e9 })) {
      expect(readSettings({ [name]: given })).toMatchObject({ [name]: count });
    }
    for (const given of ['0', '-1', '1.5', '1e3', '5s', '1000000001', '9'.repeat(15), '9'.repeat(400), '1_000']) {
      expect(() => readSettings({ [name]: given })).toThrow(`${name}: ${wholeNumber}`);
    }
  });

  it.each(namesOf('amount'))('%s is a whole number, which may be 0', (name) => {
    expect(readSettings({ [name]: '0' })).toMatchObject({ [name]: 0 });
    for (const given of ['-1', '1.5', '1000000001']) {
      expect(() => readSettings({ [name]: given })).toThrow(`${name}: expected a whole number from 0 to 1000000000`);
    }
  });

  it.each(namesOf('ranges'))('%s lists addresses and ranges, IPv4 and IPv6', (name) => {
    for (const given of ['127.0.0.1', '10.0.0.0/8, ::1', '2001:db8::/32,0.0.0.0/0']) {
      expect(readSettings({ [name]: given })).toMatchObject({ [name]: given });
    }
    for (const given of [
      '10.0.0.0/33',
      '10.0.0',
      'proxy',
      '::1/129',
      '10.0.0.0/8,',
      'fe80::1%eth0',
      '10.0.0.0/8 ::1',
    ]) {
      expect(() => readSettings({ [name]: given })).toThrow(`${name}: expected addresses and ranges`);
    }
  });

  it.each(namesOf('url'))('%s is a URL', (name) => {
    expect(readSettings({ [name]: 'https://a.example/b?c=d' })).toMatchObject({ [name]: 'https://a.example/b?c=d' });
    for (const given of ['a.example', 'ftp://a.example', 'https://'])
      expect(() => readSettings({ [name]: given })).toThrow(
        `${name}: expected a URL that begins with https:// or http://`,
      );
    for (const given of ['https://user:hidden@a.example/', 'https://hidden@a.example/', 'https://:hidden@a.example/'])
      expect(() => readSettings({ [name]: given })).toThrow(
        new SettingsError([`${name}: expected a URL without user and password: put a credential in its path or query`]),
      );
  });

  it.each(namesOf('ratio'))('%s is a number from 0 to 1', (name) => {
    for (const [given, ratio] of Object.entries({ '0': 0, '0.01': 0.01, '1': 1 }))
      expect(readSettings({ ...collector, [name]: given })).toMatchObject({ [name]: ratio });
    for (const given of ['10', '1.1', '-0.5', '1e-3', '5 %'])
      expect(() => readSettings({ ...collector, [name]: given })).toThrow(`${name}: expected a number from 0 to 1`);
  });

  it.each([{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, { OTEL_TRACES_SAMPLER: 'xray' }, { OTEL_TRACES_SAMPLER_ARG: '5' }])(
    'the variable of OpenTelemetry is an error only if spans are exported: %j',
    (env) => {
      expect(readSettings(env)).toEqual(readSettings({}));
      expect(readSettings({ ...collector, ...env, OTEL_SDK_DISABLED: 'True' })).toEqual(readSettings({}));
      const [name = ''] = Object.keys(env);
      expect(() => readSettings({ ...collector, ...env })).toThrow(`${name}: expected`);
      expect(() => readSettings({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://a', ...env })).toThrow(name);
    },
  );

  it('OTEL_SDK_DISABLED may be false in any case', () => {
    expect(readSettings({ ...collector, OTEL_SDK_DISABLED: 'False' })).toMatchObject(collector);
    expect(() => readSettings({ ...collector, OTEL_SDK_DISABLED: '1' })).toThrow('expected one of false, true');
  });

  it('QUOTAS_WITHOUT_REDIS may be open or closed, METRICS_PER_KEY and KEY_HEADERS off or on', () => {
    expect(readSettings({ QUOTAS_WITHOUT_REDIS: 'closed' }).QUOTAS_WITHOUT_REDIS).toBe('closed');
    expect(() => readSettings({ QUOTAS_WITHOUT_REDIS: 'no' })).toThrow('expected one of open, closed');
    expect(readSettings({ METRICS_PER_KEY: 'on' }).METRICS_PER_KEY).toBe('on');
    expect([readSettings({}).KEY_HEADERS, readSettings({ KEY_HEADERS: 'on' }).KEY_HEADERS]).toEqual(['off', 'on']);
    expect(() => readSettings({ METRICS_PER_KEY: 'yes' })).toThrow('expected one of off, on');
  });

  it.each(levels.split(', '))('LOG_LEVEL may be %s', (level) => {
    expect(readSettings({ LOG_LEVEL: level }).LOG_LEVEL).toBe(level);
  });

  it('LOG_LEVEL may have no other value', () => {
    for (const given of ['INFO', 'verbose', 'warning', '30']) {
      expect(() => readSettings({ LOG_LEVEL: given })).toThrow(`LOG_LEVEL: expected one of ${levels}`);
    }
  });
});

describe('errors in settings', () => {
  it('are reported all at once, in the order of the table, without the values', () => {
    const env = { DRAIN_TIMEOUT_MS: 's3cret', PORT: 's3cret', LOG_LEVEL: 's3cret', OPS_PORT: '70000', HOST: 'x' };
    expect(() => readSettings(env)).toThrow(
      new SettingsError([
        'PORT: expected a port from 0 to 65535',
        'OPS_PORT: expected a port from 0 to 65535',
        `LOG_LEVEL: expected one of ${levels}`,
        `DRAIN_TIMEOUT_MS: ${wholeNumber}`,
      ]),
    );
  });
});

describe('every setting', () => {
  it('is tested above: each is of one of these types', () => {
    const known = ['string', 'url', 'port', 'count', 'amount', 'ratio', 'ranges'].flatMap(namesOf);
    const others = settingRows.map(({ name }) => name).filter((name) => !known.includes(name));
    // Tokens are tested with the admin API and the webhook, STATUS_PAGE with the pages, those of OpenTelemetry with exports.
    const lists = [
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      'OTEL_TRACES_SAMPLER',
      'OTEL_SDK_DISABLED',
      'STATUS_PAGE',
      'LOG_LEVEL',
      'ACCESS_LOG',
      'KEY_HEADERS',
      'QUOTAS_WITHOUT_REDIS',
      'METRICS_PER_KEY',
      'RECENT_CALLS_PARAMS',
    ];
    expect(others.toSorted()).toEqual(['ADMIN_TOKEN', 'ADMIN_TOKENS', 'EVENTS_WEBHOOK_SECRET', ...lists].toSorted());
  });

  it.each(settingRows)('$name has a name in capitals, with its unit, and a meaning of one line', (row) => {
    expect(row.name).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
    if (/[Tt]ime\b|Seconds/.test(row.meaning)) expect(row.name).toMatch(/_(MS|S)$/);
    expect(row.meaning).toMatch(/^[A-Z`][^\n|]+[^.\s]$/);
  });
});

describe('a development machine', () => {
  const isOne = (env: Record<string, string>): boolean => isDevelopment(readSettings(env));

  it.each([{}, { HOST: 'localhost' }, { HOST: '::1' }, { HOST: '127.1.2.3' }, { NODE_ENV: 'development' }])(
    'is one that only it can reach: %j',
    (env) => {
      expect(isOne(env)).toBe(true);
    },
  );

  it.each([
    { HOST: '0.0.0.0' },
    { HOST: '::' },
    { HOST: '192.168.0.5' },
    { HOST: '127.example.org' },
    { HOST: 'localhost.example.org' },
    { REDIS_URL: 'redis://127.0.0.1' },
    { NODE_ENV: 'production' },
  ])('is not one with %j', (env) => {
    expect(isOne(env)).toBe(false);
  });
});

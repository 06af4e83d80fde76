import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { itemsIn } from '../../gateway/config/parse-setting.ts';
import { drainDelayOf, readSettings, settingRows } from '../../gateway/config/settings.ts';
import { TrustedProxies } from '../../gateway/server/http/trusted-proxies.ts';
import { argumentsOf, copiesOf, environmentOf, readStages } from './dockerfile.ts';

interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly restart?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly env_file?: unknown;
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly command?: string;
  readonly stop_grace_period?: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: object;
}

const read = (file: string): string => readFileSync(join(packageRoot, file), 'utf8');
const compose = parse(read('docker-compose.yml'), { merge: true }) as {
  services: Record<string, Service>;
  networks: Record<string, unknown>;
  volumes: Record<string, unknown>;
};
const services = Object.entries(compose.services);
const gateway = compose.services['gateway'] ?? {};
const stages = readStages();
const image = stages.at(-1) ?? [];
const allowed = read('.dockerignore')
  .split('\n')
  .filter((line) => line.startsWith('!'))
  .map((line) => line.slice(1));
const composeSettings = Object.fromEntries(
  Object.entries(gateway.environment ?? {}).map(([name, value]) => [name, String(value)]),
);
const settings = readSettings({ ...environmentOf(image), ...composeSettings });

describe('Dockerfile', () => {
  it('uses an exact version of Node, by its digest', () => {
    const bases = stages.flatMap((stage) => argumentsOf(stage, 'FROM')).map((from) => from.split(' ')[0]);
    expect(bases).toHaveLength(3);
    expect(new Set(bases).size).toBe(1);
    expect(bases[0]).toMatch(/^node:\d+\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}$/);
  });

  it('copies only files that exist, that .dockerignore allows, or that other stages create', () => {
    const copies = stages.flatMap((stage) => copiesOf(stage));
    const ofContext = copies.filter(({ from }) => from === undefined).flatMap(({ sources }) => sources);
    for (const source of ofContext) {
      expect([source, existsSync(join(packageRoot, source))]).toEqual([source, true]);
      expect(allowed).toContain(source.split('/')[0]);
    }
    expect(allowed.filter((name) => !ofContext.some((source) => source.split('/')[0] === name))).toEqual([]);
    const names = stages.flatMap((stage) => argumentsOf(stage, 'FROM')).map((from) => from.split(' AS ')[1]);
    for (const { from } of copies) if (from !== undefined) expect(names).toContain(from);
  });

  it('runs as a user other than root, given as a number', () => {
    expect(argumentsOf(image, 'USER')).toEqual(['1000:1000']);
  });

  it('exposes the ports that it sets', () => {
    const { PORT, OPS_PORT } = environmentOf(image);
    expect(argumentsOf(image, 'EXPOSE')).toEqual([`${PORT} ${OPS_PORT}`]);
  });
});

describe('docker-compose.yml', () => {
  it('sets existing settings to valid values', () => {
    const known = settingRows.map(({ name }) => name);
    const set = [...Object.keys(environmentOf(image)), ...Object.keys(composeSettings)];
    expect(set.filter((name) => !known.includes(name))).toEqual([]);
    expect(settings).toMatchObject({ HOST: '0.0.0.0', NODE_ENV: 'production', REDIS_URL: 'redis://redis:6379' });
  });

  it('reads a file of settings that exists, in the form that Compose 1.29 and 2 read', () => {
    expect(gateway.env_file).toEqual(['deploy/gateway.env']);
    const lines = read('deploy/gateway.env').trimEnd().split('\n');
    expect(lines.filter((line) => !line.startsWith('#'))).toEqual(['TRUSTED_PROXIES=172.16.0.0/12']);
  });

  it('lets Caddy of the profile tls name the address of each caller, or all would have one limit of unknown keys', () => {
    const { TRUSTED_PROXIES = '' } = Object.fromEntries(
      read('deploy/gateway.env')
        .split('\n')
        .map((line) => line.split('=') as [string, string]),
    );
    const proxies = new TrustedProxies(itemsIn(TRUSTED_PROXIES));
    const throughCaddy = {
      socket: { remoteAddress: '172.18.0.3' },
      headers: { 'x-forwarded-for': '203.0.113.7' },
    } as unknown as IncomingMessage;
    expect(proxies.addressGroupOf(throughCaddy)).toBe('203.0.113.7');
    expect(composeSettings['TRUSTED_PROXIES']).toBeUndefined();
  });

  it('has the image’s ports: calls on loopback and behind Caddy, the ops port inside only, for Prometheus', () => {
    expect(composeSettings).toMatchObject({ PORT: '8545', OPS_PORT: environmentOf(image)['OPS_PORT'] });
    expect(gateway.ports).toEqual([`127.0.0.1:8545:${settings.PORT}`]);
    expect(read('deploy/Caddyfile')).toContain(`reverse_proxy gateway:${settings.PORT} {`);
    const { scrape_configs } = parse(read('deploy/prometheus/prometheus.yml')) as { scrape_configs: object[] };
    expect(scrape_configs).toMatchObject([{ dns_sd_configs: [{ names: ['gateway'], port: settings.OPS_PORT }] }]);
    expect(compose.services['redis']?.ports).toBeUndefined();
    expect(compose.services['prometheus']?.ports).toEqual(['127.0.0.1:9090:9090']);
  });

  it.each(services)('restricts %s, and has its exact version and digest', (name, service) => {
    expect(service).toMatchObject({
      restart: 'unless-stopped',
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    if (name === 'gateway') expect(service.build).toBe('.');
    else expect(service.image).toMatch(/:v?\d+\.\d+\.\d+(-alpine)?@sha256:[0-9a-f]{64}$/);
  });

  it('mounts existing files read-only, and uses volumes and networks that it declares', () => {
    const mounts = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')));
    for (const [source = '', , mode] of mounts) {
      if (source.startsWith('./'))
        expect([source, existsSync(join(packageRoot, source)), mode]).toEqual([source, true, 'ro']);
      else expect(Object.keys(compose.volumes)).toContain(source);
    }
    expect(gateway.volumes).toEqual([`./networks:/app/${settings.NETWORKS_DIR}:ro`]);
    expect(gateway.networks).toEqual(['default', ...Object.keys(compose.networks)]);
    expect(compose.services['redis']?.networks).toEqual(Object.keys(compose.networks));
  });

  it('gives the gateway more time to stop than it can take', () => {
    // The gateway ends after twice the drain timeout (program.ts).
    const longest = drainDelayOf(settings) + 2 * settings.DRAIN_TIMEOUT_MS;
    expect(parseInt(gateway.stop_grace_period ?? '') * 1000).toBeGreaterThan(longest);
  });

  it('has a drain delay in the image, for load balancers, but none in compose, which has a single gateway', () => {
    expect(drainDelayOf(readSettings(environmentOf(image)))).toBe(5_000);
    expect(drainDelayOf(settings)).toBe(0);
    expect(drainDelayOf(readSettings({}))).toBe(0);
  });

  it('never loses keys: an append-only file in a volume, and no eviction', () => {
    const { command = '', volumes } = compose.services['redis'] ?? {};
    expect(command).toContain('--appendonly yes');
    expect(command).toContain('--maxmemory-policy noeviction');
    expect(volumes).toEqual(['redis-data:/data']);
  });

  it('waits only for services with a health check', () => {
    for (const [, { depends_on = {} }] of services) {
      for (const [name, { condition }] of Object.entries(depends_on)) {
        expect(condition).toBe('service_healthy');
        const hasCheck = compose.services[name]?.healthcheck !== undefined || compose.services[name]?.build === '.';
        expect([name, hasCheck]).toEqual([name, true]);
      }
    }
  });
});

describe('deploy/compose.scaled.yml', () => {
  // `!reset` is a tag of Compose.
  const scaled = parse(read('deploy/compose.scaled.yml'), { logLevel: 'silent' }) as typeof compose;
  const { balancer = {}, gateway: changed = {} } = scaled.services;

  it('moves the address of the gateway to HAProxy, and changes nothing else but settings of several gateways', () => {
    expect(Object.keys(scaled.services)).toEqual(['gateway', 'balancer']);
    expect(read('deploy/compose.scaled.yml')).toContain('    ports: !reset []\n');
    expect(Object.keys(changed)).toEqual(['ports', 'environment']);
    expect(balancer.ports?.[0]?.split(':').slice(0, 2)).toEqual(gateway.ports?.[0]?.split(':').slice(0, 2));
    expect(read('deploy/haproxy.cfg')).toContain(`bind :${balancer.ports?.[0]?.split(':')[2]}\n`);
  });

  it('gives the gateway more time to stop than it can take', () => {
    const own = Object.fromEntries(
      Object.entries(changed.environment ?? {}).map(([name, value]) => [name, String(value)]),
    );
    const all = readSettings({ ...environmentOf(image), ...composeSettings, ...own });
    const longest = drainDelayOf(all) + 2 * all.DRAIN_TIMEOUT_MS;
    expect(parseInt(gateway.stop_grace_period ?? '') * 1000).toBeGreaterThan(longest);
  });

  it('restricts HAProxy as the other services, and has its exact version and digest', () => {
    const { restart, read_only, cap_drop, security_opt } = compose.services['redis'] ?? {};
    expect(balancer).toMatchObject({ restart, read_only, cap_drop, security_opt });
    expect(balancer.image).toMatch(/:\d+\.\d+\.\d+-alpine@sha256:[0-9a-f]{64}$/);
  });
});

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { drainDelayOf, readSettings } from '../../gateway/config/settings.ts';
import { loadNetworks } from '../../gateway/network-files/load-networks.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';
import { argumentsOf, environmentOf, readStages } from './dockerfile.ts';

const folder = join(packageRoot, 'deploy', 'kubernetes');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
const kustomization = parse(read('kustomization.yaml')) as {
  resources: string[];
  images: { name: string }[];
  configMapGenerator: { name: string; files: string[] }[];
};

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Labels; readonly annotations?: Labels };
  readonly spec: Readonly<Record<string, unknown>>;
}

type Labels = Readonly<Record<string, string>>;

interface Container {
  readonly image: string;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: object;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly readinessProbe: { readonly periodSeconds: number; readonly failureThreshold: number };
}

interface Pod {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly terminationGracePeriodSeconds: number;
    readonly securityContext: { readonly runAsUser: number };
    readonly containers: readonly [Container];
    readonly volumes: readonly { readonly name: string; readonly configMap: { readonly name: string } }[];
  };
}

const names = readdirSync(folder).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml');
const manifests = names.flatMap((name) => parseAllDocuments(read(name)).map((document) => document.toJS() as Manifest));
const ofKind = (kind: string): Manifest[] => manifests.filter((manifest) => manifest.kind === kind);
const deployment = ofKind('Deployment')[0] as Manifest;
const pod = deployment.spec['template'] as Pod;
const [container] = pod.spec.containers;
const image = environmentOf(readStages().at(-1) ?? []);
const settings = readSettings({ ...image, REDIS_URL: 'redis://redis' });
const ports = new Map(container.ports.map(({ name, containerPort }) => [name, containerPort]));

describe('the Kubernetes manifests', () => {
  it('let clients reach the calls port through the Ingress, and only Prometheus the ops port', () => {
    const [ingress] = ofKind('Ingress');
    expect(JSON.stringify(ingress)).toContain('"service":{"name":"gatehouse","port":{"name":"calls"}}');
    const seconds = Number(ingress?.metadata.annotations?.['nginx.ingress.kubernetes.io/proxy-read-timeout']);
    expect(seconds * 1000).toBeGreaterThan(settings.CALL_TIMEOUT_MS);
    const rules = ofKind('NetworkPolicy')[0]?.spec['ingress'] as { from?: object[]; ports: { port: string }[] }[];
    expect(rules.map(({ from, ports: open }) => [open.map(({ port }) => port), from === undefined])).toEqual([
      [['calls'], true],
      [['ops'], false],
    ]);
  });

  it('let gateways connect to DNS, upstreams and Redis only', () => {
    const { policyTypes, egress } = ofKind('NetworkPolicy')[0]?.spec as unknown as {
      policyTypes: string[];
      egress: { ports: { port: number }[] }[];
    };
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(egress.flatMap((rule) => rule.ports.map(({ port }) => port))).toEqual([53, 53, 443, 6379]);
  });

  it('are all listed, or listed in a comment', () => {
    const left = [...read('kustomization.yaml').matchAll(/^ *# - (\S+\.yaml)$/gm)].map(([, name]) => name);
    expect([...kustomization.resources, ...left].sort()).toEqual(names.sort());
  });

  it('select the pods of the deployment', () => {
    const selectors = [
      (deployment.spec['selector'] as { matchLabels: Labels }).matchLabels,
      ...ofKind('Service').map(({ spec }) => spec['selector'] as Labels),
      ...ofKind('PodDisruptionBudget').map(({ spec }) => (spec['selector'] as { matchLabels: Labels }).matchLabels),
      ...ofKind('NetworkPolicy').map(({ spec }) => (spec['podSelector'] as { matchLabels: Labels }).matchLabels),
    ];
    expect(selectors).toHaveLength(5);
    for (const selector of selectors) expect(selector).toEqual(pod.metadata.labels);
    const target = ofKind('HorizontalPodAutoscaler')[0]?.spec['scaleTargetRef'];
    expect(target).toEqual({ apiVersion: 'apps/v1', kind: 'Deployment', name: deployment.metadata.name });
    const monitored = (ofKind('ServiceMonitor')[0]?.spec['selector'] as { matchLabels: Labels }).matchLabels;
    const services = ofKind('Service').filter(({ metadata }) =>
      Object.entries(monitored).every(([label, value]) => metadata.labels?.[label] === value),
    );
    expect(services.map(({ metadata }) => metadata.name)).toEqual(['gatehouse-ops']);
  });

  it('have the image’s ports and user, and probe existing paths', () => {
    expect(ports).toEqual(
      new Map([
        ['calls', settings.PORT],
        ['ops', settings.OPS_PORT],
      ]),
    );
    expect([`${pod.spec.securityContext.runAsUser}:1000`]).toEqual(argumentsOf(readStages().at(-1) ?? [], 'USER'));
    expect(container).toMatchObject({
      startupProbe: { httpGet: { path: '/livez', port: 'ops' } },
      livenessProbe: { httpGet: { path: '/livez', port: 'ops' } },
      readinessProbe: { httpGet: { path: '/readyz', port: 'ops' } },
      securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
    });
    for (const { spec } of ofKind('Service')) {
      for (const { targetPort } of spec['ports'] as { targetPort: string }[]) expect(ports.has(targetPort)).toBe(true);
    }
  });

  it('give the gateway more time to stop than it can take', () => {
    const longest = drainDelayOf(settings) + 2 * settings.DRAIN_TIMEOUT_MS;
    const { periodSeconds, failureThreshold } = container.readinessProbe;
    expect(drainDelayOf(settings)).toBeGreaterThan(periodSeconds * failureThreshold * 1000);
    expect(pod.spec.terminationGracePeriodSeconds * 1000).toBeGreaterThan(longest);
  });

  it('mount valid network files in the folder that the gateway reads', () => {
    const [generated] = kustomization.configMapGenerator;
    expect(pod.spec.volumes).toEqual([{ name: 'networks', configMap: { name: generated?.name } }]);
    expect(container.volumeMounts).toMatchObject([{ mountPath: `/app/${settings.NETWORKS_DIR}` }]);
    for (const file of generated?.files ?? []) expect(existsSync(join(folder, file))).toBe(true);
    const knownMethods = methods.map(({ name }) => name);
    const networks = loadNetworks({ folder: join(folder, 'networks'), knownMethods, env: {} });
    expect(networks.map(({ slug }) => `networks/${slug}.yaml`)).toEqual(generated?.files);
    expect(kustomization.images.map(({ name }) => name)).toEqual([container.image]);
  });
});

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { loadNetworks } from '../../gateway/network-files/load-networks.ts';
import { methodFacts } from '../../gateway/spec/method-facts.ts';
import { findGoProgram } from '../support/go-program.ts';
import { models } from './kubernetes-models.ts';

const HELM_VERSION = '3.22.0';
/** A program of `go install` has an old version by default. */
const KUBERNETES = ['--kube-version', '1.31.0'];
const chart = join(packageRoot, 'deploy/helm');

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Labels };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
}

type Labels = Readonly<Record<string, string>>;

let helm: string;

beforeAll(() => {
  helm = findGoProgram({
    name: 'helm',
    package: 'helm.sh/helm/v3/cmd/helm',
    version: HELM_VERSION,
    versionArgs: ['version', '--template', '{{.Version}}'],
    // `go install` sets no version: the program prints that of its source, without the patch.
    versionText: `v${HELM_VERSION.replace(/\.\d+$/, '')}`,
  });
});

function run(...args: string[]): { code: number | null; out: string; err: string } {
  const { status, stdout, stderr } = spawnSync(helm, args, { encoding: 'utf8' });
  return { code: status, out: stdout, err: stderr };
}

const flags = (values: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(values).flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`]);

function render(values: Readonly<Record<string, unknown>> = {}, release = 'gatehouse'): Manifest[] {
  const { code, out, err } = run('template', release, chart, ...KUBERNETES, ...flags(values));
  expect([code, err]).toEqual([0, '']);
  return parseAllDocuments(out).flatMap((document) => (document.toJS() as Manifest | null) ?? []);
}

const ofKind = (manifests: readonly Manifest[], kind: string): Manifest[] =>
  manifests.filter((manifest) => manifest.kind === kind);

const everything = {
  'ingress.enabled': true,
  'ingress.tls': [{ secretName: 'tls', hosts: ['mainnet.example.org'] }],
  'serviceMonitor.enabled': true,
  settings: { ACCESS_LOG: 'on', CALL_TIMEOUT_MS: 20_000 },
  tolerations: [{ key: 'gateways', operator: 'Exists' }],
  nodeSelector: { pool: 'gateways' },
  podAnnotations: { 'example.org/owner': 'us' },
  imagePullSecrets: [{ name: 'registry' }],
};

describe('the chart', () => {
  it('is accepted by helm lint, also with all its parts', () => {
    expect(run('lint', '--strict', chart)).toMatchObject({ code: 0 });
    expect(run('lint', '--strict', chart, ...flags(everything))).toMatchObject({ code: 0 });
  });

  it('has the version of package.json', () => {
    const { version, appVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as Record<string, string>;
    const own = (JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }).version;
    expect([version, appVersion]).toEqual([own, own]);
  });

  it.each<[string, Readonly<Record<string, unknown>>, string[]]>([
    [
      'by default',
      {},
      [
        'ConfigMap',
        'Deployment',
        'HorizontalPodAutoscaler',
        'NetworkPolicy',
        'PodDisruptionBudget',
        'Service',
        'Service',
      ],
    ],
    [
      'with all its parts',
      everything,
      [
        ...['ConfigMap', 'Deployment', 'HorizontalPodAutoscaler', 'Ingress', 'NetworkPolicy', 'PodDisruptionBudget'],
        ...['Service', 'Service', 'ServiceMonitor'],
      ],
    ],
    [
      'with as few as possible',
      {
        ...{ 'autoscaling.enabled': false, 'podDisruptionBudget.enabled': false, 'networkPolicy.enabled': false },
        ...{ existingNetworks: 'mine', existingSecret: '' },
      },
      ['Deployment', 'Service', 'Service'],
    ],
  ])('%s renders manifests that are valid by the schema of Kubernetes', (_, values, kinds) => {
    const manifests = render(values);
    expect(manifests.map(({ kind }) => kind).sort()).toEqual(kinds);
    for (const manifest of manifests) {
      const Model = models[manifest.kind];
      if (Model !== undefined) new Model(manifest as never).validate();
      else expect(manifest.kind).toBe('ServiceMonitor');
    }
  });

  it('has the same container, probes and security as deploy/kubernetes', () => {
    const plain = parse(readFileSync(join(packageRoot, 'deploy/kubernetes/deployment.yaml'), 'utf8')) as Manifest;
    const containerOf = ({ spec }: Manifest): Record<string, unknown> => {
      const pod = spec['template'] as { spec: { containers: [Record<string, unknown>] } };
      const { image, imagePullPolicy, ...container } = pod.spec.containers[0];
      expect([image, imagePullPolicy]).not.toEqual([undefined, '']);
      return container;
    };
    const [deployment] = ofKind(render(), 'Deployment');
    expect(deployment && containerOf(deployment)).toEqual(containerOf(plain));
  });

  it('selects the pods of its release, and monitors its ops service', () => {
    const manifests = render(everything, 'blue');
    const [deployment] = ofKind(manifests, 'Deployment');
    const labels = (deployment?.spec['template'] as { metadata: { labels: Labels } }).metadata.labels;
    const selectors = [
      (deployment?.spec['selector'] as { matchLabels: Labels }).matchLabels,
      ...ofKind(manifests, 'Service').map(({ spec }) => spec['selector'] as Labels),
      ...ofKind(manifests, 'PodDisruptionBudget').map(
        ({ spec }) => (spec['selector'] as { matchLabels: Labels }).matchLabels,
      ),
      ...ofKind(manifests, 'NetworkPolicy').map(
        ({ spec }) => (spec['podSelector'] as { matchLabels: Labels }).matchLabels,
      ),
    ];
    expect(selectors).toHaveLength(5);
    for (const selector of selectors) expect(labels).toMatchObject(selector);
    expect(labels['app.kubernetes.io/instance']).toBe('blue');
    const monitored = (ofKind(manifests, 'ServiceMonitor')[0]?.spec['selector'] as { matchLabels: Labels }).matchLabels;
    const services = ofKind(manifests, 'Service').filter(({ metadata }) =>
      Object.entries(monitored).every(([label, value]) => metadata.labels?.[label] === value),
    );
    expect(services.map(({ metadata }) => metadata.name)).toEqual(['blue-gatehouse-ops']);
    expect(ofKind(manifests, 'HorizontalPodAutoscaler')[0]?.spec['scaleTargetRef']).toMatchObject({
      name: deployment?.metadata.name,
    });
  });

  it('opens the ops port to the named peers only, and without peers to none', () => {
    const rulesOf = (values: Readonly<Record<string, unknown>>) =>
      ofKind(render(values), 'NetworkPolicy')[0]?.spec['ingress'] as { from?: object[]; ports: { port: string }[] }[];
    expect(rulesOf({}).map(({ from, ports }) => [ports[0]?.port, from?.length])).toEqual([
      ['calls', undefined],
      ['ops', 1],
    ]);
    expect(rulesOf({ 'networkPolicy.opsFrom': [] }).map(({ ports }) => ports[0]?.port)).toEqual(['calls']);
  });

  it('lets gateways connect to DNS, upstreams and Redis only, and nowhere without rules', () => {
    const policyOf = (values: Readonly<Record<string, unknown>>) =>
      ofKind(render(values), 'NetworkPolicy')[0]?.spec as {
        policyTypes: string[];
        egress: { ports: { port: number }[] }[];
      };
    expect(policyOf({}).policyTypes).toEqual(['Ingress', 'Egress']);
    expect(policyOf({}).egress.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual([53, 53, 443, 6379]);
    const none = { 'networkPolicy.dns': [], 'networkPolicy.upstreams': [], 'networkPolicy.redis': [] };
    expect(policyOf(none).egress).toEqual([]);
  });

  it('names the image by its digest, if there is one', () => {
    const imageOf = (values: Readonly<Record<string, unknown>>): string | undefined => {
      const pod = ofKind(render(values), 'Deployment')[0]?.spec['template'] as {
        spec: { containers: [{ image: string }] };
      };
      return pod.spec.containers[0].image;
    };
    const digest = `sha256:${'ab'.repeat(32)}`;
    expect(imageOf({ 'image.tag': '1.2.3' })).toBe('images.example.org/gatehouse:1.2.3');
    expect(imageOf({ 'image.tag': '1.2.3', 'image.digest': digest })).toBe(
      `images.example.org/gatehouse:1.2.3@${digest}`,
    );
  });

  it('writes settings as the gateway reads them', () => {
    const [deployment] = ofKind(render({ settings: { ACCESS_LOG: 'on', BODY_MAX_BYTES: 5_000_000 } }), 'Deployment');
    const pod = deployment?.spec['template'] as { spec: { containers: [{ env: object[] }] } };
    expect(pod.spec.containers[0].env).toEqual([
      { name: 'ACCESS_LOG', value: 'on' },
      { name: 'BODY_MAX_BYTES', value: '5000000' },
    ]);
  });

  it('writes valid network files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-helm-'));
    onTestFinished(() => {
      rmSync(folder, { recursive: true });
    });
    mkdirSync(join(folder, 'networks'));
    const text = 'name: Text\nchainId: 5 # a comment\nupstreams:\n  - { name: one, url: http://127.0.0.1:1 }\n';
    const sepolia = { name: 'Sepolia', chainId: 11_155_111, upstreams: [{ name: 'one', url: 'http://127.0.0.1:1' }] };
    const [networks] = ofKind(render({ 'networks.sepolia': sepolia, 'networks.text': text }), 'ConfigMap');
    for (const [name, text] of Object.entries(networks?.data ?? {}))
      writeFileSync(join(folder, 'networks', name), text);
    const loaded = loadNetworks({ folder: join(folder, 'networks'), ...methodFacts, env: {} });
    expect(loaded.map(({ slug, chainId }) => [slug, chainId])).toEqual([
      ['ethereum-mainnet', 1],
      ['sepolia', 11_155_111],
      ['text', 5],
    ]);
  });

  it.each<[Readonly<Record<string, unknown>>, string]>([
    [{ replcias: 3 }, 'replcias'],
    [{ replicas: 0 }, 'replicas'],
    [{ settings: { 'access-log': 'on' } }, 'access-log'],
    [{ networks: { 'Not A Slug': {} } }, 'Not A Slug'],
    [{ networks: {} }, 'expected at least one network'],
    [{ 'image.pullPolicy': 'Sometimes' }, 'pullPolicy'],
  ])('rejects the values %j and names the cause', (values, cause) => {
    // Helm merges maps: null removes the default network.
    const given = 'networks' in values && cause.startsWith('expected') ? { 'networks.ethereum-mainnet': null } : values;
    const { code, err } = run('template', 'gatehouse', chart, ...KUBERNETES, ...flags(given));
    expect(code).not.toBe(0);
    expect(err).toContain(cause);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { models } from './kubernetes-models.ts';

const folder = join(packageRoot, 'deploy/kubernetes');
const manifests = readdirSync(folder)
  .filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
  .flatMap((name) => parseAllDocuments(readFileSync(join(folder, name), 'utf8')))
  .map((document) => document.toJS() as { readonly kind: string })
  .filter(({ kind }) => kind !== 'ServiceMonitor');

it.each(manifests.map((manifest) => [manifest.kind, manifest]))(
  '%s of deploy/kubernetes is valid by the schema of Kubernetes',
  (kind, manifest) => {
    const Model = models[kind];
    if (Model === undefined) throw new Error(`test/helm/kubernetes-models.ts has no ${kind}`);
    new Model(manifest as never).validate();
    const broken = { ...manifest, spec: 'none' };
    expect(() => {
      new Model(broken as never).validate();
    }).toThrow();
  },
);

import { createRequire } from 'node:module';

type Model = new (manifest: never) => { validate(): void };

const require = createRequire(import.meta.url);
const kinds = {
  v1: ['ConfigMap', 'Service'],
  'apps/v1': ['Deployment'],
  'autoscaling/v2': ['HorizontalPodAutoscaler'],
  'networking.k8s.io/v1': ['Ingress', 'NetworkPolicy'],
  'policy/v1': ['PodDisruptionBudget'],
};

/**
 * The classes of kubernetes-models, by kind; ServiceMonitor is of the Prometheus operator. The package is not one of the
 * root, so that `npm run types` has no types of it.
 */
export const models: Readonly<Record<string, Model>> = Object.fromEntries(
  Object.entries(kinds).flatMap(([path, names]) => {
    const classes = require(`kubernetes-models/${path}`) as Record<string, Model>;
    return names.map((name) => [name, classes[name] as Model]);
  }),
);

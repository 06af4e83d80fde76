import type { Program } from './find-program.ts';

/** Programs that tests need and npm does not provide. `npm test` needs none: without a Redis it names what it does not run. */
export const programs = {
  redis: { names: ['redis-server', 'valkey-server'], debianPackage: 'redis-server' },
  nginx: { names: ['nginx'], debianPackage: 'nginx-light' },
  haproxy: { names: ['haproxy'], debianPackage: 'haproxy' },
  zsh: { names: ['zsh'], debianPackage: 'zsh' },
  promtool: { names: ['promtool'], debianPackage: 'prometheus' },
} as const satisfies Record<string, Program>;

import type { Program } from './find-program.ts';

/** Programs that `npm test` needs and npm does not provide. */
export const programs = {
  redis: { names: ['redis-server', 'valkey-server'], debianPackage: 'redis-server' },
  nginx: { names: ['nginx'], debianPackage: 'nginx-light' },
  haproxy: { names: ['haproxy'], debianPackage: 'haproxy' },
  zsh: { names: ['zsh'], debianPackage: 'zsh' },
  curl: { names: ['curl'], debianPackage: 'curl' },
  promtool: { names: ['promtool'], debianPackage: 'prometheus' },
} as const satisfies Record<string, Program>;

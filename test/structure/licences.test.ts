import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';

/** Permissive licences: they only require that users retain their notices. */
// MPL-2.0 (@ethereumjs) requires the source of its own files only if they are changed, and they are not.
const allowed = ['MPL-2.0', 'MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0', '0BSD'];

interface Package {
  readonly license?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

it('the dependencies of the gateway have permissive licences', () => {
  const { packages } = JSON.parse(readFileSync(join(packageRoot, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Package>;
  };
  const installed = Object.entries(packages).filter(
    ([path, { dev, devOptional }]) => path !== '' && dev !== true && devOptional !== true,
  );
  expect(installed.length).toBeGreaterThan(50);
  const others = installed.filter(([, { license = 'none' }]) => !allowed.includes(license));
  expect(others.map(([path, { license }]) => [path, license])).toEqual([]);
});

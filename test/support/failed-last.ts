import { relative } from 'node:path';
import { writeFileSync } from 'node:fs';
import type { Reporter } from 'vitest/node';

/**
 * Names the failed tests in the last lines of the output, of which a CI may show no more. Writes the failed files into
 * `FAILED_FILES`, one a line, for `.ci/run`; none if an error occurred outside of a test.
 */
export const failedLast: Reporter = {
  onTestRunEnd(modules, unhandledErrors) {
    const failed = modules.flatMap(({ children, moduleId }) =>
      [...children.allTests('failed')].map(({ fullName }) => `failed: ${moduleId} > ${fullName}`),
    );
    process.once('exit', () => {
      for (const line of failed) console.error(line);
    });
    const file = process.env['FAILED_FILES'];
    if (file === undefined) return;
    const files = unhandledErrors.length > 0 ? [] : modules.filter((module) => !module.ok());
    writeFileSync(file, files.map(({ moduleId }) => `${relative(process.cwd(), moduleId)}\n`).join(''));
  },
};

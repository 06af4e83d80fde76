import type { Reporter } from 'vitest/node';

/** Names the failed tests in the last lines of the output, of which a CI may show no more. */
export const failedLast: Reporter = {
  onTestRunEnd(modules) {
    const failed = modules.flatMap(({ children, moduleId }) =>
      [...children.allTests('failed')].map(({ fullName }) => `failed: ${moduleId} > ${fullName}`),
    );
    process.once('exit', () => {
      for (const line of failed) console.error(line);
    });
  },
};

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';

/** A recipe of CONTRIBUTING.md. `npm run generate` follows the steps of each one. */
export interface Recipe {
  readonly name: string;
  /** The numbered steps, in Markdown. */
  readonly steps: readonly string[];
  readonly tests: readonly string[];
}

export function readRecipes(): Recipe[] {
  const [, section = ''] = readFileSync(join(packageRoot, 'CONTRIBUTING.md'), 'utf8').split('\n## Recipes\n');
  const [, ...items] = (section.split('\n## ')[0] ?? '').split(/^- \*\*/m);
  return items.map((item) => {
    const [head = '', ...steps] = item.split(/^ {2}\d\. /m);
    const [name = '', tests = ''] = head.split('.** Tests:');
    return {
      name,
      steps: steps.map((step) => step.trim().replace(/\n */g, ' ')),
      tests: [...tests.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
    };
  });
}

/** Whether a step is about a file. A step names its file first, with `<…>` for a part of the path, or names no file. */
export function isAbout(step: string, file: string): boolean {
  const [, template] = /^`([^`]+)`/.exec(step) ?? [];
  if (template === undefined) return file.startsWith('gateway/');
  const parts = template.split(/<[^>]+>/).map((part) => part.replace(/[.]/g, '\\.'));
  return new RegExp(`^${parts.join('[^/]+')}${template.endsWith('/') ? '' : '$'}`).test(file);
}

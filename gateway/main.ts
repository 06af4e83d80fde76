// Static imports load before any code runs, so that they must not be here.
import './config/young-heap.ts';

await import('./program.ts');

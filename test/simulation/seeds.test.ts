import { testSeeds } from './seeds.ts';

/** The whole hours are in test/hours. */
testSeeds([1, 2, 3], 20);

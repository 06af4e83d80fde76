import { testSeeds } from './seeds.ts';

testSeeds([9, 10, 11, 12]);

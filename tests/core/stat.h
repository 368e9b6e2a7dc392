/*
 * stat - what the tests of random numbers share: is a count, a sum, a table as it should be?
 *
 * All seeds are fixed, so a test that passes passes always; 4 sigma is what a right generator
 * keeps to in 15 999 of 16 000 cases.
 */
#ifndef IOLUA_TESTS_STAT_H
#define IOLUA_TESTS_STAT_H

#include <math.h>
#include <stdint.h>

/* A count of n trials, each with probability p, is within 4 sigma of n p. */
static inline int stat_count_fits(double seen, double n, double p)
{
    return fabs(seen - n * p) <= 4 * sqrt(n * p * (1 - p)) + 1e-9;
}

/* Chi-square with df degrees of freedom is at most 4 sigma above what chance gives. Its fourth
 * root is nearly normal (Hawkins and Wixley, 1986), also for few degrees. */
static inline int stat_chi_fits(double chi, double df)
{
    double mean = 1 - 3 / (16 * df) - 7 / (512 * df * df), sigma = sqrt(1 / (8 * df));

    return (pow(chi / df, 0.25) - mean) / sigma <= 4;
}

/* Chi-square of counts against equal shares. */
static inline double stat_chi_equal(const unsigned *seen, unsigned cells, double draws)
{
    double want = draws / cells, chi = 0;

    for (unsigned i = 0; i < cells; i++)
        chi += (seen[i] - want) * (seen[i] - want) / want;
    return chi;
}

#endif

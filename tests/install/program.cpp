/*
 * program.cpp -- the same as program.c by way of the C++ headers.
 */
#include <bowline/bowline.hpp>

#include <iostream>

int main()
{
    bowline::client     client("thread:");
    const bowline::hold hold = client.acquire("stranger");

    std::cout << bowline_version_string() << "\n";
    return hold.name() != "stranger";
}

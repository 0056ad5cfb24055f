# A Homebrew formula, for Linux. `make dist` writes it into build-dist/ with the address and the checksum of the tarball;
# `brew install --formula build-dist/bowline.rb` builds it.
class Bowline < Formula
  desc "Locks by name, between threads, processes and machines"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "scdoc" => :build
  depends_on :linux
  depends_on "openssl@3"

  def install
    # Linked: OpenSSL of Homebrew is not where a library is loaded from.
    system "meson", "setup", "build", "-Dtls=link", "-Dtests=disabled", "-Dexamples=disabled", *std_meson_args
    system "meson", "compile", "-C", "build", "--verbose"
    system "meson", "install", "-C", "build"
  end

  test do
    ENV["BOWLINE_URL"] = "file:#{testpath}"
    assert_match version.to_s, shell_output("#{bin}/bowline --version")
    assert_equal "held\n", shell_output("#{bin}/bowline run nightly echo held")
    shell_output("#{bin}/bowline run nightly #{bin}/bowline run -n nightly true", 124)
  end
end

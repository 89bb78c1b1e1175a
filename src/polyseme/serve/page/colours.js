// Which colour a point has, and how much it stands out.

const BRIGHT = {
  light: ["#d1495b", "#2274a5", "#e28413", "#3c9d6e", "#7a5cc9", "#00a6a6", "#c2408f", "#6b8e23", "#a0522d", "#4b6bfb", "#b8860b", "#5f6c7b"],
  dark: ["#ff7a8a", "#5db7ff", "#ffc04d", "#5fe0a1", "#b79bff", "#3fe0e0", "#ff86cf", "#b5e35a", "#f0a36e", "#8fa6ff", "#f2d45c", "#9fb0c3"],
};
const NEUTRAL = { light: "#8e99a8", dark: "#66758c" };
const HUES = 36;

// One list for the drawing library: neutral, then the bright colours, then soft ones for the many words.
export function palette(theme) {
  const soft = Array.from({ length: HUES }, (_, place) => hex(place * 360 / HUES, theme === "dark" ? 0.62 : 0.55, theme === "dark" ? 0.66 : 0.5));
  return [NEUTRAL[theme], ...BRIGHT[theme], ...soft];
}

export const BRIGHTEST = BRIGHT.light.length;
export const softColour = (number) => 1 + BRIGHTEST + ((number * 7) % HUES);
export const brightColour = (number) => 1 + (number % BRIGHTEST);

export const HIDDEN = 0, DIM = 1, NORMAL = 2, LIT = 3;

export function looks(count, theme) {
  const opacity = Math.min(0.85, Math.max(0.2, 130 / Math.sqrt(count)));
  // The first size is of points that are not seen; the drawing library takes it as its measure, so it may not be tiny.
  const size = Math.min(5, Math.max(1.5, 5.4 - 0.75 * Math.log10(count)));
  return {
    opacity: [0, Math.max(0.08, opacity * (theme === "dark" ? 0.36 : 0.34)), opacity, 0.95],
    pointSize: [1, size, size + 0.6, size + 4],
  };
}

function hex(hue, saturation, lightness) {
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    const value = lightness - saturation * Math.min(lightness, 1 - lightness) * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * value).toString(16).padStart(2, "0");
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}

// What the page says, in English and Chinese.

const EN = {
  title: "Explore", search: "Type a word", loading: "Loading the map", layer: "Layer", colour: "Colour",
  word: "Word", sense: "Sense", document: "Document", label: "Label", corpus: "Text", mean: "mean", static: "static",
  layer0: "Layer 0: the word alone, without its context", layerN: "Layer {n}: in context", layermean: "The mean of all layers", layerstatic: "Static vectors: one for each word",
  tabWord: "Word", tabSelection: "Selection", tabSentence: "Sentence", tabCompare: "Compare",
  lasso: "Lasso (L)", view: "Select what is in view (S)", home: "Whole map (H)", split: "Side by side (B)", save: "Export (E)", dark: "Dark", light: "Light", help: "Help (?)", language: "中文",
  points: "{n} points", ofpoints: "{n} of {m} occurrences on the map", occurrences: "{n} occurrences",
  noWord: "Type a word above, and its occurrences light up. Click a point to read its sentence; draw around points with the lasso.",
  findSenses: "Find its senses", findingSenses: "Looking for senses", senses: "{n} senses", oneSense: "One sense: its contexts do not fall apart",
  silhouette: "silhouette {a}, by chance {b}", chance: "by chance",
  notOnMap: "not on the map", sentences: "Sentences", more: "Words in the selection", typical: "Words that would fit here",
  noSelection: "Draw around points with the lasso, click one, or press S to select all that is in view.",
  selected: "{n} points selected", clear: "Clear",
  sentenceHint: "Write a sentence, then click one of its words to find where it means the same.", sentenceExample: "The band began to play an old song .", go: "Split into words",
  nearest: "Nearest contexts", substitutes: "Words that would fit", onlyServed: "This is a file without a server. Run polyseme explore to search, to find senses and to compare.",
  compareHint: "See two maps side by side.", byLayer: "Two layers", byWords: "Two words", byCorpora: "Two texts", off: "One map",
  apd: "Average distance between occurrences (APD)", prt: "Distance of the averages (PRT)", needTwoWords: "Type a second word to compare.", needWord: "Type a word to compare it in both texts.",
  mostTypical: "Most typical of {w}", png: "Picture (PNG)", csv: "Table (CSV)", json: "Data (JSON)", link: "Copy a link to this view", copied: "The link is copied.", html: "",
  other: "others", unknown: "unknown", exported: "{n} rows written", failed: "Not possible: {e}",
  helpTitle: "Keys", keys: [["/", "type a word"], ["0 1 2 M G", "layer 0, 1, 2, mean, static"], ["C", "next colouring"], ["L", "lasso"], ["S", "select what is in view"], ["B", "side by side"], ["← ↑ ↓ →  + −", "move, zoom"], ["H", "whole map"], ["E", "export"], ["T", "light or dark"], ["Esc", "clear the selection, then the words"]],
  about: "A point is a word in a sentence. Points are near each other if the words are used alike.",
  left: "Left", right: "Right", panel: "Panel", senseColour: "Choose a word to colour its senses.", static_: "",
};

const ZH = {
  title: "浏览", search: "输入一个词", loading: "正在载入地图", layer: "层", colour: "着色",
  word: "词", sense: "义项", document: "文献", label: "标签", corpus: "文本", mean: "平均", static: "静态",
  layer0: "第 0 层：只看词本身，不看语境", layerN: "第 {n} 层：看语境", layermean: "各层的平均", layerstatic: "静态词向量：一词一个向量",
  tabWord: "词", tabSelection: "选区", tabSentence: "句子", tabCompare: "对比",
  lasso: "套索（L）", view: "选中视野内的点（S）", home: "全图（H）", split: "并排（B）", save: "导出（E）", dark: "深色", light: "浅色", help: "帮助（?）", language: "English",
  points: "{n} 个点", ofpoints: "{m} 处用例，地图上有 {n} 处", occurrences: "{n} 处用例",
  noWord: "在上方输入一个词，它的用例就会亮起来。点击一个点可读到句子；用套索可圈选一组点。",
  findSenses: "查找义项", findingSenses: "正在查找义项", senses: "{n} 个义项", oneSense: "一个义项：它的语境没有分开",
  silhouette: "轮廓系数 {a}，随机时 {b}", chance: "随机",
  notOnMap: "不在地图上", sentences: "例句", more: "选区中的词", typical: "此处可替换的词",
  noSelection: "用套索圈选，点击一个点，或按 S 选中视野内的所有点。",
  selected: "选中 {n} 个点", clear: "清除",
  sentenceHint: "写一个句子，再点击其中一个词，查找意义相同的用例。", sentenceExample: "银行今天发放了一笔贷款。", go: "分词",
  nearest: "最接近的语境", substitutes: "可替换的词", onlyServed: "这是不带服务器的单个文件。要检索、查找义项和对比，请运行 polyseme explore。",
  compareHint: "并排查看两张地图。", byLayer: "两个层", byWords: "两个词", byCorpora: "两个文本", off: "一张地图",
  apd: "用例之间的平均距离（APD）", prt: "两个平均向量的距离（PRT）", needTwoWords: "再输入一个词来对比。", needWord: "输入一个词，对比它在两个文本中的用法。",
  mostTypical: "最能代表 {w} 的例句", png: "图片（PNG）", csv: "表格（CSV）", json: "数据（JSON）", link: "复制当前视图的链接", copied: "链接已复制。", html: "",
  other: "其他", unknown: "未知", exported: "已写出 {n} 行", failed: "无法完成：{e}",
  helpTitle: "按键", keys: [["/", "输入一个词"], ["0 1 2 M G", "第 0、1、2 层，平均，静态"], ["C", "换一种着色"], ["L", "套索"], ["S", "选中视野内的点"], ["B", "并排"], ["← ↑ ↓ →  + −", "移动、缩放"], ["H", "全图"], ["E", "导出"], ["T", "深色或浅色"], ["Esc", "先清除选区，再清除词"]],
  about: "一个点是句子里的一个词。用法相近的词，点也相近。",
  left: "左", right: "右", panel: "面板", senseColour: "先选一个词，再按义项着色。", static_: "",
};

export function translator(language) {
  const words = language === "zh" ? ZH : EN;
  const format = new Intl.NumberFormat(language === "zh" ? "zh-CN" : "en");
  return (key, values = {}) => {
    const text = words[key];
    if (typeof text !== "string") return text ?? key;
    return text.replace(/\{(\w)\}/g, (_, name) => (typeof values[name] === "number" ? format.format(values[name]) : values[name]));
  };
}
